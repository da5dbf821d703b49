use super::super::Accumulator;
use super::{add, data, learned, summed};
use crate::data::Dataset;
use crate::linalg::Mat;
use sha2::{Digest, Sha256};
use std::time::Instant;

/// Seven blocks of nine rows, the last one shorter.
const SIZE: usize = 9;
const BLOCKS: usize = 7;

fn bytes(sums: &Accumulator) -> Vec<u8> {
    sums.to_bytes().unwrap()
}

#[test]
fn order_and_division_of_the_blocks_do_not_change_a_bit() {
    let data = data(60);
    let map = learned(&data, 10);
    let all: Vec<usize> = (0..BLOCKS).collect();
    let expected = summed(&map, &data, SIZE, &all);
    assert_eq!(expected.rows(), 60);
    let model = map.model(&expected).unwrap().to_json().unwrap();
    for step in 1..BLOCKS {
        let order: Vec<usize> = all.iter().map(|k| (k * step + 3) % BLOCKS).collect();
        let found = summed(&map, &data, SIZE, &order);
        assert_eq!(bytes(&found), bytes(&expected), "{order:?}");
        assert_eq!(map.model(&found).unwrap().to_json().unwrap(), model);
        // By two and three processes, merged in either order; one of the three has nothing for a step of six.
        for processes in [2, 3] {
            let part = |p: usize| -> Vec<usize> {
                order.iter().copied().filter(|block| (block * step) % processes == p).collect()
            };
            let parts: Vec<Accumulator> = (0..processes).map(|p| summed(&map, &data, SIZE, &part(p))).collect();
            let merged = |order: &mut dyn Iterator<Item = &Accumulator>| {
                order.fold(Accumulator::new(&map), |mut sum, part| {
                    sum.merge(part.clone()).unwrap();
                    sum
                })
            };
            assert_eq!(bytes(&merged(&mut parts.iter())), bytes(&expected));
            assert_eq!(bytes(&merged(&mut parts.iter().rev())), bytes(&expected));
        }
    }
    let (mut early, late) = (summed(&map, &data, SIZE, &[0, 1, 2]), summed(&map, &data, SIZE, &[5, 6]));
    let mut other = summed(&map, &data, SIZE, &[3, 4]);
    other.merge(late).unwrap();
    early.merge(other).unwrap();
    assert_eq!(bytes(&early), bytes(&expected));
}

/// Where products are large enough to be divided.
#[test]
fn threads_do_not_change_a_bit() {
    let data = data(4100);
    let map = learned(&data, 300);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| bytes(&summed(&map, &data, 2050, &[0, 1])))
    };
    let one = with(1);
    assert!(one == with(2) && one == with(8));
}

#[test]
fn a_block_is_added_once() {
    let data = data(60);
    let map = learned(&data, 10);
    let mut sums = summed(&map, &data, SIZE, &[0, 1, 2, 5]);
    for block in 0..BLOCKS {
        assert_eq!(sums.has(block as u64), [0, 1, 2, 5].contains(&block));
    }
    let before = bytes(&sums);
    for block in [0, 1, 2, 5] {
        let problem = add(&mut sums, &data, SIZE, block).unwrap_err().to_string();
        assert!(problem.contains("added before"), "{problem}");
    }
    for twice in [[2, 3], [1, 4], [5, 6]] {
        assert!(sums.clone().merge(summed(&map, &data, SIZE, &twice)).is_err());
    }
    // A pair that is added up already, against one of its blocks.
    assert!(summed(&map, &data, SIZE, &[1]).merge(sums.clone()).is_err());
    assert_eq!(bytes(&sums), before);
}

#[test]
fn sums_of_another_map_are_refused() {
    let data = data(60);
    let (map, other) = (learned(&data, 10), learned(&data, 12));
    let sums = summed(&other, &data, SIZE, &[0]);
    for problem in [map.model(&sums).unwrap_err(), summed(&map, &data, SIZE, &[1]).merge(sums).unwrap_err()] {
        assert!(problem.to_string().contains("another map"), "{problem}");
    }
    let problem = map.model(&Accumulator::new(&map)).unwrap_err().to_string();
    assert!(problem.contains("no rows"), "{problem}");
}

#[test]
fn bytes_are_read_back_and_damage_is_noticed() {
    let data = data(60);
    let map = learned(&data, 10);
    let sums = summed(&map, &data, SIZE, &[0, 1, 2, 5]);
    let whole = bytes(&sums);
    let mut read = Accumulator::from_bytes(&whole).unwrap();
    assert_eq!(bytes(&read), whole);
    assert_eq!(read.map(), &map);
    // It goes on where it was.
    for block in [3, 4, 6] {
        add(&mut read, &data, SIZE, block).unwrap();
    }
    let all: Vec<usize> = (0..BLOCKS).collect();
    assert_eq!(bytes(&read), bytes(&summed(&map, &data, SIZE, &all)));

    for length in (0..whole.len()).step_by(13).chain(whole.len() - 40..whole.len()) {
        assert!(Accumulator::from_bytes(&whole[..length]).is_err(), "cut at {length}");
    }
    let longer = [whole.clone(), vec![0; 8]].concat();
    assert!(Accumulator::from_bytes(&longer).is_err());
    for place in (0..whole.len()).step_by(7) {
        let mut damaged = whole.clone();
        damaged[place] ^= 1 << (place % 8);
        assert!(Accumulator::from_bytes(&damaged).is_err(), "byte {place}");
        // With a checksum that is right all that may happen is an error or other numbers.
        let content = damaged.len() - 32;
        let sum = Sha256::digest(&damaged[..content]);
        damaged[content..].copy_from_slice(&sum);
        let _ = Accumulator::from_bytes(&damaged).map(|sums| sums.rows());
    }
    for (place, expected) in [(0, "no bytes of one"), (8, "version")] {
        let mut other = whole.clone();
        other[place] += 1;
        let problem = Accumulator::from_bytes(&other).map(|_| ()).unwrap_err().to_string();
        assert!(problem.contains(expected), "{problem}");
    }
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let data = data(60);
    let map = learned(&data, 10);
    let mut sums = Accumulator::new(&map);
    let (x, y) = (data.inputs().subrows(0, 5), data.targets().subrows(0, 5));
    let problem = |result: crate::Result<()>| result.unwrap_err().to_string();
    assert!(problem(sums.update(0, x, y, None)).contains("weights"));
    assert!(problem(sums.update(0, x, y, Some(&[1.0; 4]))).contains("weights"));
    assert!(problem(sums.update(0, x, y, Some(&[1.0, 1.0, -1.0, 1.0, 1.0]))).contains("row 3"));
    assert!(problem(sums.update(0, x.subcols(0, 1), y, Some(&[1.0; 5]))).contains("columns"));
    assert!(problem(sums.update(0, x, y.subrows(0, 4), Some(&[1.0; 5]))).contains("rows"));
    assert_eq!(sums.rows(), 0);
    // Rows of weight zero are passed over.
    sums.update(0, x, y, Some(&[0.0, 1.0, 0.0, 1.0, 1.0])).unwrap();
    assert_eq!(sums.rows(), 3);
    // Repeats count rows, also those that came in blocks: five of 1e-3 are no row, five of 1e15 too many to count.
    for (weight, is_count) in [(1e-3, false), (1.0, true), (1e15, false)] {
        let mut sums = Accumulator::new(&map);
        sums.update(0, x, y, Some(&[weight; 5])).unwrap();
        match map.model(&sums) {
            Ok(_) => assert!(is_count),
            Err(problem) => assert!(!is_count && problem.to_string().contains("add up to"), "{problem}"),
        }
    }
}

/// What many patterns of missing targets cost: run with `--ignored --nocapture`.
#[test]
#[ignore = "measures time and memory"]
fn cost_of_patterns() {
    const ROWS: usize = 20_000;
    let x = Mat::from_fn(ROWS, 10, |n, d| ((n * (3 + 2 * d)) as f64 * 0.37).sin());
    let whole = Mat::from_fn(ROWS, 4, |n, c| (2.0 * x[(n, c)]).sin() + 0.1 * ((n * 7 + c) as f64).cos());
    let sample = Dataset::new(x.clone(), whole.clone()).unwrap().select(&(0..2000).collect::<Vec<_>>()).unwrap();
    let map = learned(&sample, 512);
    for (patterns, size) in [(1, 1), (15, 4)] {
        // The first of them has all targets; row n lacks those whose bits are set in its pattern.
        let y = Mat::from_fn(ROWS, 4, |n, c| if (n % patterns) >> c & 1 == 1 { f64::NAN } else { whole[(n, c)] });
        let (mut sums, start) = (Accumulator::new(&map), Instant::now());
        for (number, first) in (0..ROWS).step_by(5000).enumerate() {
            let rows = |table: &Mat<f64>| table.as_ref().subrows(first, 5000).to_owned();
            sums.update(number as u64, rows(&x).as_ref(), rows(&y).as_ref(), None).unwrap();
        }
        let (seconds, bytes) = (start.elapsed().as_secs_f64(), sums.to_bytes().unwrap().len());
        println!("{patterns} patterns: {seconds:.2} s, {:.1} MB of sums in a checkpoint", bytes as f64 / 1e6);
        let one = 8 * 513 * 513;
        assert!(bytes < size * one * 2, "{bytes}");
    }
}
