//! The list itself.
//!
//! Numbers of columns are counted in the files, and so are the rows wherever a checksum is given; other rows and all
//! citations follow the page of the collection. The last four (rf1, rf2, scm1d, scm20d) follow that page in everything,
//! their addresses too.

use super::Dataset;

const MULAN: &str = "Spyromitros-Xioufis et al., Machine Learning, 2016";
const SUN: &str = "UCI Machine Learning Repository, Solar Flare";
/// Revisions of the collection.
const FIRST: &str = "122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9";
const SECOND: &str = "49efcccb0666c59f57d942c13c6184af028c7650";
const NEWEST: &str = "master";

/// All known data sets, those of the paper first.
#[rustfmt::skip] // A table: one entry in two or three lines.
pub const DATASETS: &[Dataset] = &[
    paper("atp1d", [337, 411, 6], FIRST, "ed935ba476c4994ba40d6712d590fb389709cceba7cf7dbbb33ef28c84762bb9", MULAN,
        "airline ticket prices: lowest price of the next day for six kinds of flight"),
    paper("atp7d", [296, 411, 6], FIRST, "77d59efdf4a6329c71c854684de7409d0d61d3bebccd6821ae268c1620c95b2d", MULAN,
        "airline ticket prices: lowest price of the next seven days for six kinds of flight"),
    paper("oes97", [334, 263, 16], FIRST, "aee74aa656c709f797f45d817c41996be94c2e924c0f1e7ad315fb7e2f1a9498", MULAN,
        "occupational employment survey 1997: people in 16 occupations per city, from the other occupations"),
    paper("oes10", [403, 298, 16], FIRST, "37f9fa429f6f2ece2cdfd08e84649971e61ee0b4e75d66166c082bacf3d36251", MULAN,
        "occupational employment survey 2010: people in 16 occupations per city, from the other occupations"),
    paper("edm", [154, 16, 2], SECOND, "37777374030f592a53cbcf597ae0aa6105238a1c696dd04ccb229be982f6bc5b",
        "Karalič and Bratko, Machine Learning, 1997",
        "electrical discharge machining: how an operator sets the gap and the flow"),
    paper("jura", [359, 15, 3], FIRST, "78ce7655f49073e3622ef7ba25657b3900a2b279ba3d48cb82e353e56bac3d2a",
        "Goovaerts, Geostatistics for Natural Resources Evaluation, 1997",
        "heavy metals in the soil of the Swiss Jura: Cd, Co and Cu from place, rock, land use and four metals"),
    paper("wq", [1060, 16, 14], SECOND, "4a0906b4a51bf52c986790ddaf261ba51faa3da9cffe823badabd88d38d252fe",
        "Džeroski, Demšar and Grbović, Applied Intelligence, 2000",
        "water quality of Slovenian rivers: 14 plant and animal species from 16 measurements"),
    paper("enb", [768, 8, 2], SECOND, "8277d9094ccda6da2cd1c2b79c90ca201fa3695e75aca173ffc43138dcab0071",
        "Tsanas and Xifara, Energy and Buildings, 2012",
        "energy of residential buildings: heating and cooling load from the shape of the house"),
    other("sf1", [323, 10, 3], FIRST, SUN,
        "solar flares, first set: number of C, M and X flares of a region; inputs are categories"),
    other("sf2", [1066, 10, 3], FIRST, SUN,
        "solar flares, second set: number of C, M and X flares of a region; inputs are categories"),
    other("slump", [103, 7, 3], FIRST, "Yeh, Cement and Concrete Composites, 2007",
        "fresh concrete: slump, flow and compressive strength from the mix"),
    other("andro", [49, 30, 6], SECOND, "Hatzikos et al., Knowledge-Based Systems, 2008",
        "sea water quality: six measurements from those of five earlier days"),
    // The page of the collection says 413 inputs, which is the number of all columns of the file.
    other("osales", [639, 401, 12], FIRST, "Kaggle competition Online Product Sales",
        "online product sales: twelve monthly sales of a product; some inputs are missing"),
    // The page of the collection writes `scfp`; the file is called scpf.arff.
    other("scpf", [1137, 23, 3], SECOND, "Kaggle competition See Click Predict Fix",
        "see, click, predict, fix: views, votes and comments of an issue reported to a city; some inputs are missing"),
    other("rf1", [9125, 64, 8], NEWEST, MULAN,
        "river flow: eight sites of a river network, 48 hours ahead, from their recent flows"),
    other("rf2", [9125, 576, 8], NEWEST, MULAN,
        "the same river flows, with forecasts of rain among the inputs"),
    other("scm1d", [9803, 280, 16], NEWEST, MULAN,
        "supply chain: mean price of sixteen products on the next day"),
    other("scm20d", [8966, 61, 16], NEWEST, MULAN,
        "supply chain: mean price of sixteen products over the next twenty days"),
];

const fn other(
    name: &'static str,
    [rows, inputs, tasks]: [usize; 3],
    revision: &'static str,
    source: &'static str,
    description: &'static str,
) -> Dataset {
    Dataset { name, rows, inputs, tasks, description, source, revision, sha256: None, in_paper: false }
}

const fn paper(
    name: &'static str,
    shape: [usize; 3],
    revision: &'static str,
    sha256: &'static str,
    source: &'static str,
    description: &'static str,
) -> Dataset {
    Dataset { sha256: Some(sha256), in_paper: true, ..other(name, shape, revision, source, description) }
}
