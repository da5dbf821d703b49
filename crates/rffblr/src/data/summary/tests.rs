use super::*;
use crate::data::summary::column::COUNTED_LEVELS;
use crate::data::{EncodeError, Encoder, Encoding, MOST_LEVELS, MissingInputs, OTHER, Roles};
use crate::table::MISSING;
use proptest::prelude::*;
use std::ops::Range;

fn numeric(name: &str, numbers: Vec<f64>) -> Column {
    Column { name: name.into(), values: Values::Numeric(numbers) }
}

fn text(name: &str, cells: &[Option<&str>]) -> Column {
    let mut levels = crate::table::cells::Levels::default();
    for cell in cells {
        match cell {
            Some(text) => _ = levels.push(text),
            None => levels.push_missing(),
        }
    }
    Column { name: name.into(), values: levels.finish() }
}

fn table(columns: Vec<Column>) -> Table {
    Table::new(columns).unwrap()
}

fn part(table: &Table, rows: Range<usize>) -> Table {
    let column = |column: &Column| {
        let mut cells = Cells::empty(!column.is_numeric());
        cells.extend(&column.values, rows.clone());
        Column { name: column.name.clone(), values: cells.finish() }
    };
    Table::new(table.columns().iter().map(column).collect()).unwrap()
}

fn summary_of(table: &Table, most_rows: usize) -> Summary {
    let mut summary = Summary::new(most_rows, 5);
    summary.add(table, 0).unwrap();
    summary
}

/// NaN equals NaN in debug text.
fn shown(summary: &Summary) -> (u64, String, Vec<String>) {
    let columns = summary.columns().iter().map(|column| match &column.present {
        Present::Texts(counts) => {
            format!("{} {} {:?} {:?}", column.name, column.missing, column.first_missing, counts.levels())
        }
        Present::Numbers(moments) => format!(
            "{} {} {:?} {} {} {}",
            column.name, column.missing, column.first_missing, moments.count, moments.min, moments.max
        ),
    });
    (summary.rows(), format!("{:?}", summary.sample()), columns.collect())
}

fn any_table() -> impl Strategy<Value = Table> {
    (1usize..60).prop_flat_map(|rows| {
        let number = prop_oneof![Just(f64::NAN), -1e3..1e3f64];
        let numbers = proptest::collection::vec(number, rows);
        let codes = proptest::collection::vec(prop_oneof![Just(MISSING), 0u32..5], rows);
        (numbers, codes).prop_map(|(numbers, codes)| {
            let levels = ["a", "b", "c", "d", "e"].map(String::from).to_vec();
            let text = Column { name: "t".into(), values: Values::Text { levels, codes } };
            table(vec![numeric("x", numbers), text])
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

    #[test]
    fn neither_order_nor_split_matters(
        table in any_table(),
        cuts in proptest::collection::vec(0usize..60, 0..6),
        most_rows in 0usize..20,
        order in any::<u64>(),
    ) {
        let whole = summary_of(&table, most_rows);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (table.rows() + 1)).chain([table.rows()]).collect();
        ends.sort_unstable();
        let mut first = 0;
        let mut parts = Vec::new();
        for (k, end) in ends.into_iter().enumerate() {
            let block = part(&table, first..end);
            // Some blocks join the summary of an earlier one.
            if let Some(known) = parts.last_mut().filter(|_| row_hash(order, k as u64).is_multiple_of(2)) {
                Summary::add(known, &block, first as u64).unwrap();
            } else {
                let mut summary = Summary::new(most_rows, 5);
                summary.add(&block, first as u64).unwrap();
                parts.push(summary);
            }
            first = end;
        }
        let mut keyed: Vec<(u64, Summary)> = (0..).map(|k| row_hash(order, k)).zip(parts).collect();
        keyed.sort_by_key(|(key, _)| *key);
        let mut merged = Summary::new(most_rows, 5);
        for (_, summary) in keyed {
            merged.merge(summary).unwrap();
        }
        prop_assert_eq!(shown(&merged), shown(&whole));
        let again = Summary::from_bytes(&merged.to_bytes().unwrap()).unwrap();
        prop_assert_eq!((shown(&again), again.columns()), (shown(&merged), merged.columns()));

        // The sample by its definition.
        let mut by_hash: Vec<u64> = (0..table.rows() as u64).collect();
        by_hash.sort_unstable_by_key(|&row| row_hash(5, row));
        by_hash.truncate(most_rows);
        by_hash.sort_unstable();
        let (sample, numbers) = merged.sample();
        prop_assert_eq!(&numbers, &by_hash);
        let (Values::Numeric(all), Values::Numeric(some)) = (&table.columns()[0].values, &sample.columns()[0].values)
        else { panic!("numbers") };
        prop_assert!(numbers.iter().zip(some).all(|(&row, x)| all[row as usize].to_bits() == x.to_bits()));

        // Mean and variance by two passes over all numbers.
        let present: Vec<f64> = all.iter().copied().filter(|x| !x.is_nan()).collect();
        let Present::Numbers(moments) = &merged.columns()[0].present else { panic!("numbers") };
        prop_assert_eq!(moments.count as usize, present.len());
        if !present.is_empty() {
            let count = present.len() as f64;
            let mean = present.iter().sum::<f64>() / count;
            let variance = present.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
            prop_assert!((moments.mean - mean).abs() <= 1e-9);
            prop_assert!((moments.variance() - variance).abs() <= 1e-9 * (1.0 + variance));
        }
    }
}

/// Every row has the same chance, also rows that are near each other: 1000 samples of 10 rows in 100.
#[test]
fn samples_are_even() {
    let mut counts = [0; 100];
    let mut neighbours = 0;
    for seed in 0..1000 {
        let mut rows: Vec<u64> = (0..100).collect();
        rows.sort_unstable_by_key(|&row| row_hash(seed, row));
        rows.truncate(10);
        rows.sort_unstable();
        rows.iter().for_each(|&row| counts[row as usize] += 1);
        neighbours += rows.windows(2).filter(|pair| pair[1] == pair[0] + 1).count();
    }
    // Binomial with mean 100 and standard deviation 9.5; neighbours have mean 99 · (10 · 9)/(100 · 99) · 1000 = 900.
    assert!(counts.iter().all(|&count| (55..=145).contains(&count)), "{counts:?}");
    assert!((800..=1000).contains(&neighbours), "{neighbours}");
}

#[test]
fn memory_is_bounded() {
    let mut summary = Summary::new(100, 1);
    for block in 0..100u64 {
        let names: Vec<String> = (0..1000).map(|row| format!("name {}", block * 1000 + row)).collect();
        let names: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        summary.add(&table(vec![text("name", &names)]), block * 1000).unwrap();
    }
    let Present::Texts(counts) = &summary.columns()[0].present else { panic!("texts") };
    assert_eq!((counts.count(), counts.levels()), (100_000, None));
    assert!(summary.candidates.len() <= 200);
    let Cells::Text(levels) = &summary.cells[0] else { panic!("texts") };
    assert!(levels.known().count() <= 1200);
    assert_eq!(summary.sample().0.rows(), 100);
}

#[test]
fn blocks_with_other_columns_are_refused() {
    let mut summary = summary_of(&table(vec![numeric("x", vec![1.0]), text("t", &[Some("a")])]), 3);
    let mut message = |columns| {
        let block = table(columns);
        let error = summary.add(&block, 1).unwrap_err().to_string();
        assert_eq!(summary.merge(summary_of(&block, 3)).unwrap_err().to_string(), error);
        error
    };
    assert_eq!(message(vec![numeric("x", vec![1.0])]), "column 't': not in all blocks");
    assert_eq!(
        message(vec![numeric("x", vec![1.0]), numeric("t", vec![1.0])]),
        "column 't': text in some blocks and numbers in others"
    );
    assert_eq!(
        message(vec![text("t", &[None]), numeric("x", vec![1.0])]),
        "column 't': not in the same place in all blocks"
    );
    assert_eq!(summary.rows(), 1);
}

fn learn(summary: &Summary) -> Result<Encoder, EncodeError> {
    Encoder::learn_summary(summary, &Roles::of_targets(["y"]), MissingInputs::Impute).map(|(encoder, _)| encoder)
}

/// With all rows in the sample, the encoder and its notes are those of the table itself.
#[test]
fn an_encoder_from_a_complete_sample() {
    let count = 30;
    let names: Vec<String> = (0..count).map(|row| format!("name {row}")).collect();
    let names: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
    let colours: Vec<Option<&str>> = (0..count).map(|row| [Some("red"), None, Some("blue")][row % 3]).collect();
    let number = |f: fn(usize) -> f64| (0..count).map(f).collect::<Vec<f64>>();
    let table = table(vec![
        text("name", &names),
        text("colour", &colours),
        numeric("row", number(|row| row as f64 + 1.0)),
        numeric("same", number(|_| 4.0)),
        numeric("gaps", number(|row| if row % 4 == 0 { f64::NAN } else { (row * row % 11) as f64 })),
        numeric("presence", number(|row| if row % 4 == 0 { f64::NAN } else { 1.0 })),
        numeric("year", number(|row| 1990.0 + row as f64)),
        numeric("y", number(|row| if row == 6 { f64::NAN } else { (row % 5) as f64 })),
    ]);
    let roles = Roles::of_targets(["y"]);
    let (rows, _) = roles.observed_rows(&table).unwrap();
    let (expected, expected_notes) = Encoder::learn(&table, &rows, &roles, MissingInputs::Impute).unwrap();
    let summary = summary_of(&table, 1000);
    let (encoder, notes) = Encoder::learn_summary(&summary, &roles, MissingInputs::Impute).unwrap();
    assert_eq!(encoder, expected);
    // Gaps are counted over all rows, also that without a target, in which no input is missing here.
    assert_eq!(notes, expected_notes);
    let error = Encoder::learn_summary(&summary, &roles, MissingInputs::Error).unwrap_err();
    assert_eq!(error.to_string(), Encoder::learn(&table, &rows, &roles, MissingInputs::Error).unwrap_err().to_string());
}

/// What a sample of two rows cannot know.
#[test]
fn an_encoder_corrects_its_sample() {
    let summary = {
        let mut summary = Summary::new(2, 5);
        let mut rows: Vec<u64> = (0..40).collect();
        rows.sort_unstable_by_key(|&row| row_hash(5, row));
        let sampled = |row: u64| rows[..2].contains(&row);
        let numbers = |f: &dyn Fn(u64) -> f64| (0..40).map(f).collect::<Vec<f64>>();
        let colours: Vec<Option<&str>> = (0..40)
            .map(|row| if sampled(row) { Some("red") } else { [Some("green"), None][row as usize % 2] })
            .collect();
        let once: Vec<Option<&str>> = (0..40)
            .map(|row| match () {
                _ if row == rows[0] => Some("u"),
                _ if row == rows[1] => Some("v"),
                _ => Some("w"),
            })
            .collect();
        let block = table(vec![
            numeric("x", numbers(&|row| if sampled(row) { 3.0 } else { row as f64 })),
            numeric("gone", numbers(&|row| if sampled(row) { f64::NAN } else { row as f64 })),
            text("colour", &colours),
            text("once", &once),
            numeric("y", numbers(&|row| row as f64)),
        ]);
        summary.add(&block, 0).unwrap();
        assert_eq!(summary.sample().1.len(), 2);
        summary
    };
    let encoder = learn(&summary).unwrap();
    let Present::Numbers(gone) = summary.column("gone").unwrap().present else { panic!("numbers") };
    let encoding = |name: &str| {
        let input = encoder.raw_inputs().iter().find(|input| input.name == name);
        input.map(|input| input.encoding.clone()).unwrap()
    };
    assert_eq!(encoding("x"), Encoding::Numeric { median: 3.0, indicator: false });
    assert_eq!(encoding("gone"), Encoding::Numeric { median: gone.mean, indicator: true });
    let levels = |encoding| match encoding {
        Encoding::Categorical { mut levels, gaps, .. } => {
            levels.sort();
            (levels, gaps)
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(levels(encoding("colour")), (vec!["green".into(), "red".into()], true));
    assert_eq!(levels(encoding("once")), (vec!["u".into(), "v".into(), "w".into()], false));
}

#[test]
fn more_levels_than_a_category_has() {
    let levels: Vec<String> = (0..COUNTED_LEVELS + 2).map(|level| format!("level {level}")).collect();
    let cells = |repeats: usize| {
        let cells: Vec<Option<&str>> =
            (0..repeats).flat_map(|_| levels.iter().map(|level| Some(level.as_str()))).collect();
        let count = cells.len();
        let numbers = |step: usize| (0..count).map(|row| (row * step % 13) as f64).collect::<Vec<f64>>();
        table(vec![text("t", &cells), numeric("x", numbers(5)), numeric("y", numbers(2))])
    };
    // Twice each: not an identifier; the first ones have columns, and the rest share one. With more levels than are counted
    // the sample decides which are frequent, here by all rows.
    let repeated = cells(2);
    let rows: Vec<usize> = (0..repeated.rows()).collect();
    let roles = Roles::of_targets(["y"]);
    let (expected, _) = Encoder::learn(&repeated, &rows, &roles, MissingInputs::Impute).unwrap();
    let Encoding::Categorical { levels: kept, rare, .. } = &expected.raw_inputs()[0].encoding else { panic!("text") };
    assert_eq!((kept.len(), *rare), (MOST_LEVELS, levels.len() - MOST_LEVELS + 1));
    assert_eq!(kept.last().map(String::as_str), Some(OTHER));
    assert_eq!(learn(&summary_of(&repeated, 3 * COUNTED_LEVELS)).unwrap().raw_inputs(), expected.raw_inputs());
    // Once each: an identifier, which is left out.
    let encoder = learn(&summary_of(&cells(1), 500)).unwrap();
    assert_eq!(encoder.raw_inputs().iter().map(|input| input.name.as_str()).collect::<Vec<_>>(), ["x"]);
}

/// Parts that know how many rows there are in all keep little more than their share of the sample, and together have all of it.
#[test]
fn a_part_keeps_its_share_of_the_sample() {
    let whole = table(vec![numeric("x", (0..20_000).map(f64::from).collect())]);
    let mut merged = Summary::new(500, 5);
    for start in (0..20_000).step_by(2000) {
        let mut summary = Summary::of_part(500, 5, 20_000);
        summary.add(&part(&whole, start..start + 2000), start as u64).unwrap();
        assert!(summary.candidates.len() < 150);
        merged.merge(summary).unwrap();
    }
    assert_eq!(shown(&merged), shown(&summary_of(&whole, 500)));
    let mut all = Summary::of_part(500, 5, 10);
    all.add(&part(&whole, 0..10), 0).unwrap();
    assert_eq!(all.sample().1.len(), 10);
}

#[test]
fn damaged_bytes_are_refused() {
    let mut summary = summary_of(&table(vec![numeric("x", vec![1.0, f64::NAN]), text("t", &[None, Some("a")])]), 5);
    summary.merge(Summary::new(5, 5)).unwrap();
    let bytes = summary.to_bytes().unwrap();
    for cut in 0..bytes.len() {
        assert!(Summary::from_bytes(&bytes[..cut]).is_err());
        let mut other = bytes.clone();
        other[cut] ^= 1;
        assert!(Summary::from_bytes(&other).is_err());
    }
}
