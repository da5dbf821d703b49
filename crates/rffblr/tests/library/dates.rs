//! Dates to numbers: every expectation here is worked out by hand.

use rffblr::data::{Cycle, DateEncoding, Encoder, Encoding, MissingInputs, Note, Roles, Summary, TrainingTable};
use rffblr::table::{Column, DAY, DateOrder, Table, Values, date_text};
use std::f64::consts::TAU;

/// An empty text is a missing cell.
fn text(name: &str, cells: &[String]) -> Column {
    let mut levels: Vec<String> = cells.iter().filter(|cell| !cell.is_empty()).cloned().collect();
    levels.sort();
    levels.dedup();
    let code = |cell: &String| levels.binary_search(cell).map_or(u32::MAX, |at| at as u32);
    Column {
        name: name.into(),
        values: Values::Text { codes: cells.iter().map(code).collect(), levels: levels.clone() },
    }
}

fn table(dates: &[String]) -> Table {
    let y = (0..dates.len()).map(|n| (n % 5) as f64).collect();
    Table::new(vec![text("when", dates), Column { name: "y".into(), values: Values::Numeric(y) }]).unwrap()
}

fn learned(dates: &[String], roles: &Roles) -> Result<(Encoder, Vec<Note>), String> {
    let (table, rows) = (table(dates), (0..dates.len()).collect::<Vec<_>>());
    Encoder::learn(&table, &rows, roles, MissingInputs::Impute).map_err(|problem| problem.to_string())
}

fn encoding(dates: &[String]) -> DateEncoding {
    match &learned(dates, &Roles::of_targets(["y"])).unwrap().0.raw_inputs()[0].encoding {
        Encoding::Date(date) => date.clone(),
        other => panic!("{other:?}"),
    }
}

/// Days from 2024-01-01, a Monday, each at some hour.
fn days(days: impl Iterator<Item = i64>, hour: i64) -> Vec<String> {
    days.map(|day| date_text(1_704_067_200.0 + DAY * day as f64 + 3600.0 * hour as f64)).collect()
}

#[test]
fn days_and_cycles_of_each_cell() {
    let mut dates = days((0..1000).step_by(3), 0);
    dates[5] = String::new();
    dates[6] = "2024-01-19T18:00:00".into();
    let date = encoding(&dates);
    assert_eq!((date.start, date.order, date.indicator), (1_704_067_200.0, DateOrder::DayFirst, true));
    assert_eq!(date.cycles, [Cycle::Year, Cycle::Week, Cycle::Day]);
    let (encoder, notes) = learned(&dates, &Roles::of_targets(["y"])).unwrap();
    let names = [
        "when",
        "when:year cos",
        "when:year sin",
        "when:week cos",
        "when:week sin",
        "when:day cos",
        "when:day sin",
        "when?",
    ];
    assert_eq!(encoder.encoded_names(), names);
    assert_eq!(
        notes[0].to_string(),
        "column 'when': dates, taken as days since 2024-01-01, season, day of the week and time of day; 1 missing cell marked"
    );
    let (inputs, _) = encoder.inputs(&table(&dates)).unwrap();
    let cell = |row: usize| (0..8).map(|d| inputs[(row, d)]).collect::<Vec<f64>>();
    let close = |found: Vec<f64>, expected: [f64; 8]| {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{found:?} {expected:?}");
    };
    // 2024-01-01 is day 19723 since 1970; row 6 is Friday, 2024-01-19 at 18:00, three quarters through the day.
    let year = |days: f64| TAU * (days / 365.2425);
    close(cell(0), [0.0, year(19723.0).cos(), year(19723.0).sin(), 1.0, 0.0, 1.0, 0.0, 0.0]);
    let (week, whole) = (TAU * 4.0 / 7.0, 19741.75);
    close(cell(6), [18.75, year(whole).cos(), year(whole).sin(), week.cos(), week.sin(), 0.0, -1.0, 0.0]);
    // A missing one has the median of the 333 others: 500 is between 999/2 and the row that is gone.
    close(cell(5), [date.median, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]);
    assert!((date.median - 501.0).abs() < 4.0, "{}", date.median);
}

#[test]
fn cycles_need_to_be_seen() {
    // Mondays; the first of months; a single year; hours of two days; the same hour every day.
    assert_eq!(encoding(&days((0..700).step_by(7), 0)).cycles, [Cycle::Year]);
    let months: Vec<String> = (0..40).map(|n| format!("{}-{:02}-01", 2020 + n / 12, n % 12 + 1)).collect();
    assert_eq!(encoding(&months).cycles, [Cycle::Year]);
    assert_eq!(encoding(&days(0..365, 0)).cycles, [Cycle::Week]);
    assert_eq!(encoding(&[days(0..3, 5), days(0..3, 17)].concat()).cycles, [Cycle::Day]);
    assert_eq!(encoding(&days(0..40, 9)).cycles, [Cycle::Week]);
    let years: Vec<String> = (1990..2020).map(|year| format!("{year}-06-30")).collect();
    assert_eq!(encoding(&years).cycles, []);
    let clocks: Vec<String> = (0..24).map(|hour| format!("{hour}:15")).collect();
    let clock = encoding(&clocks);
    assert_eq!((clock.start, &clock.cycles[..], clock.describe()), (0.0, &[Cycle::Day][..], "time of day".into()));
}

#[test]
fn orders_are_found_or_asked_for() {
    let list = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
    let ambiguous = list(&["03/04/2024", "05/06/2024", "07/08/2024"]);
    let roles = Roles::of_targets(["y"]);
    let problem = learned(&ambiguous, &roles).unwrap_err();
    assert!(problem.contains("'03/04/2024' and all other dates") && problem.contains("say which"), "{problem}");
    for (order, start) in [(DateOrder::DayFirst, "2024-04-03"), (DateOrder::MonthFirst, "2024-03-04")] {
        let roles = Roles { dates: Some(order), ..roles.clone() };
        let (encoder, _) = learned(&ambiguous, &roles).unwrap();
        let Encoding::Date(date) = &encoder.raw_inputs()[0].encoding else { unreachable!() };
        assert_eq!((date.order, date_text(date.start).as_str()), (order, start));
    }
    assert_eq!(encoding(&list(&["03/04/2024", "31/12/2023"])).order, DateOrder::DayFirst);
    // Levels, if these are wanted; and a slip among many is named.
    let as_text = Roles { text: vec!["when".into()], ..roles.clone() };
    let (encoder, _) = learned(&list(&["2024-05-31", "2024-05-30", "2024-05-31"]), &as_text).unwrap();
    assert!(matches!(encoder.raw_inputs()[0].encoding, Encoding::Categorical { .. }));
    let slip = [days(0..40, 0), vec!["soon".into()]].concat();
    let problem = learned(&slip, &roles).unwrap_err();
    assert!(problem.contains("'soon' is not a date, but 40 of the 41 values"), "{problem}");
    // At prediction the order of training counts, whatever the new dates look like.
    let (encoder, _) = learned(&list(&["03/04/2024", "12/31/2023"]), &roles).unwrap();
    let (inputs, _) = encoder.inputs(&table(&list(&["01/02/2024"]))).unwrap();
    assert_eq!(inputs[(0, 0)], 2.0);
    let problem = encoder.inputs(&table(&list(&["31/12/2024"]))).unwrap_err().to_string();
    assert!(problem.starts_with("data row 1, column 'when': '31/12/2024' is not a date"), "{problem}");
}

/// What is learned in blocks is what is learned at once, also with more dates than levels are counted.
#[test]
fn the_same_from_a_summary() {
    let dates: Vec<String> = (0..3000).map(|n| date_text(1e9 + 5000.0 * n as f64)).collect();
    let (table, roles) = (table(&dates), Roles::of_targets(["y"]));
    let mut summary = Summary::new(5000, 0);
    for first in [0, 1000, 2000] {
        let part = |column: &Column| match &column.values {
            Values::Numeric(numbers) => Values::Numeric(numbers[first..first + 1000].to_vec()),
            Values::Text { levels, codes } => {
                Values::Text { levels: levels.clone(), codes: codes[first..first + 1000].to_vec() }
            }
        };
        let columns = table.columns().iter().map(|column| Column { name: column.name.clone(), values: part(column) });
        summary.add(&Table::new(columns.collect()).unwrap(), first as u64).unwrap();
    }
    let (found, _) = Encoder::learn_summary(&summary, &roles, MissingInputs::Impute).unwrap();
    assert_eq!(found, learned(&dates, &roles).unwrap().0);
}

#[test]
fn a_date_of_every_row_is_an_input_and_may_be_a_time() {
    let dates = days(0..60, 0);
    let training = TrainingTable::new(table(&dates), Roles::of_targets(["y"]), MissingInputs::Impute).unwrap();
    assert_eq!(training.encoder().raw_inputs().len(), 1);
    assert!(training.notes().iter().any(|note| note.to_string().contains("looks like a time")));
    let json = serde_json::to_value(training.encoder()).unwrap();
    assert_eq!(json["inputs"][0]["encoding"]["date"]["cycles"], serde_json::json!(["week"]));
    assert_eq!(serde_json::from_value::<Encoder>(json).unwrap(), *training.encoder());
}

/// One row alone shows how the dates of a column are read, or that they are none: a part without that row reads the others as the
/// whole table does, which is what it would learn if the dates were written so that there is one way to read them, or if
/// the column were listed as text.
#[test]
fn parts_read_dates_as_the_whole_table_does() {
    let of = |dates: &[String], roles: Roles| TrainingTable::new(table(dates), roles, MissingInputs::Impute).unwrap();
    let plain = || Roles::of_targets(["y"]);
    let part: Vec<usize> = (0..20).filter(|&row| row != 7).collect();
    let read = |training: &TrainingTable, rows: &[usize]| {
        let (encoder, data) = training.part(rows).unwrap();
        (encoder.encoded_names(), data.inputs().to_owned(), training.held_out(&encoder, &[7]).unwrap().0)
    };
    let days = |n: usize| if n == 7 { 25 } else { 1 + n % 9 };
    let written = |form: fn(usize) -> String| (0..20).map(days).map(form).collect::<Vec<String>>();
    let iso = of(&written(|day| format!("2024-02-{day:02}")), plain());
    for form in [|day| format!("{day:02}/02/2024"), |day| format!("02/{day:02}/2024")] {
        assert_eq!(read(&of(&written(form), plain()), &part), read(&iso, &part));
    }
    // Rows in which day and month are the same number are read in one way, but those that follow are not.
    let same = |n: usize| if n == 7 { "02/25/2024".into() } else { format!("{0:02}/{0:02}/2024", 1 + n % 3) };
    let known = |n: usize| if n == 7 { "2024-02-25".into() } else { format!("2024-{0:02}-{0:02}", 1 + n % 3) };
    let [same, known] = [(0..20).map(same).collect::<Vec<_>>(), (0..20).map(known).collect()];
    assert_eq!(read(&of(&same, plain()), &part), read(&of(&known, plain()), &part));
    // 25/02 and 02/25 in one column are no dates, and one of them is not in the part.
    let mut mixed = written(|day| format!("{day:02}/02/2024"));
    mixed[8] = "02/25/2024".into();
    let text = Roles { text: vec!["when".into()], ..plain() };
    assert_eq!(read(&of(&mixed, plain()), &part), read(&of(&mixed, text), &part));
}
