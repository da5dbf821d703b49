//! The list itself.
//!
//! Numbers of columns are counted in the files, and so are the rows wherever a checksum is given;
//! other rows and all citations follow the page of the collection. The last four (rf1, rf2, scm1d, scm20d) follow that
//! page in everything, their addresses too.

use super::Dataset;

const MULAN: &str = "Spyromitros-Xioufis et al., Machine Learning, 2016";

/// All known data sets, those of the paper first.
pub const DATASETS: &[Dataset] = &[
    Dataset {
        name: "atp1d",
        rows: 337,
        inputs: 411,
        tasks: 6,
        description: "airline ticket prices: lowest price of the next day for six kinds of flight",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/atp1d.arff",
        sha256: Some("ed935ba476c4994ba40d6712d590fb389709cceba7cf7dbbb33ef28c84762bb9"),
        in_paper: true,
    },
    Dataset {
        name: "atp7d",
        rows: 296,
        inputs: 411,
        tasks: 6,
        description: "airline ticket prices: lowest price of the next seven days for six kinds of flight",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/atp7d.arff",
        sha256: Some("77d59efdf4a6329c71c854684de7409d0d61d3bebccd6821ae268c1620c95b2d"),
        in_paper: true,
    },
    Dataset {
        name: "oes97",
        rows: 334,
        inputs: 263,
        tasks: 16,
        description: "occupational employment survey 1997: people in 16 occupations per city, from the other occupations",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/oes97.arff",
        sha256: Some("aee74aa656c709f797f45d817c41996be94c2e924c0f1e7ad315fb7e2f1a9498"),
        in_paper: true,
    },
    Dataset {
        name: "oes10",
        rows: 403,
        inputs: 298,
        tasks: 16,
        description: "occupational employment survey 2010: people in 16 occupations per city, from the other occupations",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/oes10.arff",
        sha256: Some("37f9fa429f6f2ece2cdfd08e84649971e61ee0b4e75d66166c082bacf3d36251"),
        in_paper: true,
    },
    Dataset {
        name: "edm",
        rows: 154,
        inputs: 16,
        tasks: 2,
        description: "electrical discharge machining: how an operator sets the gap and the flow",
        source: "Karalič and Bratko, Machine Learning, 1997",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/49efcccb0666c59f57d942c13c6184af028c7650/data/multi-target/edm.arff",
        sha256: Some("37777374030f592a53cbcf597ae0aa6105238a1c696dd04ccb229be982f6bc5b"),
        in_paper: true,
    },
    Dataset {
        name: "jura",
        rows: 359,
        inputs: 15,
        tasks: 3,
        description: "heavy metals in the soil of the Swiss Jura: Cd, Co and Cu from place, rock, land use and four metals",
        source: "Goovaerts, Geostatistics for Natural Resources Evaluation, 1997",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/jura.arff",
        sha256: Some("78ce7655f49073e3622ef7ba25657b3900a2b279ba3d48cb82e353e56bac3d2a"),
        in_paper: true,
    },
    Dataset {
        name: "wq",
        rows: 1060,
        inputs: 16,
        tasks: 14,
        description: "water quality of Slovenian rivers: 14 plant and animal species from 16 measurements",
        source: "Džeroski, Demšar and Grbović, Applied Intelligence, 2000",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/49efcccb0666c59f57d942c13c6184af028c7650/data/multi-target/wq.arff",
        sha256: Some("4a0906b4a51bf52c986790ddaf261ba51faa3da9cffe823badabd88d38d252fe"),
        in_paper: true,
    },
    Dataset {
        name: "enb",
        rows: 768,
        inputs: 8,
        tasks: 2,
        description: "energy of residential buildings: heating and cooling load from the shape of the house",
        source: "Tsanas and Xifara, Energy and Buildings, 2012",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/49efcccb0666c59f57d942c13c6184af028c7650/data/multi-target/enb.arff",
        sha256: Some("8277d9094ccda6da2cd1c2b79c90ca201fa3695e75aca173ffc43138dcab0071"),
        in_paper: true,
    },
    Dataset {
        name: "sf1",
        rows: 323,
        inputs: 10,
        tasks: 3,
        description: "solar flares, first set: number of C, M and X flares of a region; inputs are categories",
        source: "UCI Machine Learning Repository, Solar Flare",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/sf1.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "sf2",
        rows: 1066,
        inputs: 10,
        tasks: 3,
        description: "solar flares, second set: number of C, M and X flares of a region; inputs are categories",
        source: "UCI Machine Learning Repository, Solar Flare",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/sf2.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "slump",
        rows: 103,
        inputs: 7,
        tasks: 3,
        description: "fresh concrete: slump, flow and compressive strength from the mix",
        source: "Yeh, Cement and Concrete Composites, 2007",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/slump.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "andro",
        rows: 49,
        inputs: 30,
        tasks: 6,
        description: "sea water quality: six measurements from those of five earlier days",
        source: "Hatzikos et al., Knowledge-Based Systems, 2008",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/49efcccb0666c59f57d942c13c6184af028c7650/data/multi-target/andro.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "osales",
        rows: 639,
        // The page of the collection says 413, which is the number of all columns of the file.
        inputs: 401,
        tasks: 12,
        description: "online product sales: twelve monthly sales of a product; some inputs are missing",
        source: "Kaggle competition Online Product Sales",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/122fce8fbefdb292ba3acbb03867a7fc8f1dcaa9/data/multi-target/osales.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        // The page of the collection writes `scfp`; the file is called scpf.arff.
        name: "scpf",
        rows: 1137,
        inputs: 23,
        tasks: 3,
        description: "see, click, predict, fix: views, votes and comments of an issue reported to a city; some inputs are missing",
        source: "Kaggle competition See Click Predict Fix",
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/49efcccb0666c59f57d942c13c6184af028c7650/data/multi-target/scpf.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "rf1",
        rows: 9125,
        inputs: 64,
        tasks: 8,
        description: "river flow: eight sites of a river network, 48 hours ahead, from their recent flows",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-target/rf1.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "rf2",
        rows: 9125,
        inputs: 576,
        tasks: 8,
        description: "the same river flows, with forecasts of rain among the inputs",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-target/rf2.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "scm1d",
        rows: 9803,
        inputs: 280,
        tasks: 16,
        description: "supply chain: mean price of sixteen products on the next day",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-target/scm1d.arff",
        sha256: None,
        in_paper: false,
    },
    Dataset {
        name: "scm20d",
        rows: 8966,
        inputs: 61,
        tasks: 16,
        description: "supply chain: mean price of sixteen products over the next twenty days",
        source: MULAN,
        url: "https://raw.githubusercontent.com/tsoumakas/mulan/master/data/multi-target/scm20d.arff",
        sha256: None,
        in_paper: false,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// Table 2 of the paper: samples, features and tasks.
    const PAPER: [(&str, usize, usize, usize); 8] = [
        ("atp1d", 337, 411, 6),
        ("atp7d", 296, 411, 6),
        ("oes97", 334, 263, 16),
        ("oes10", 403, 298, 16),
        ("edm", 154, 16, 2),
        ("jura", 359, 15, 3),
        ("wq", 1060, 16, 14),
        ("enb", 768, 8, 2),
    ];

    #[test]
    fn the_paper_has_the_same_shapes_in_the_same_order() {
        let listed: Vec<_> = DATASETS
            .iter()
            .filter(|dataset| dataset.in_paper)
            .map(|dataset| (dataset.name, dataset.rows, dataset.inputs, dataset.tasks))
            .collect();
        assert_eq!(listed, PAPER);
    }

    #[test]
    fn every_entry_is_well_formed() {
        let names: HashSet<_> = DATASETS.iter().map(|dataset| dataset.name).collect();
        assert_eq!(names.len(), DATASETS.len());
        for dataset in DATASETS {
            let name = dataset.name;
            assert!(name.chars().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit()));
            assert!(dataset.url.starts_with("https://"), "{name}");
            assert!(dataset.url.ends_with(&format!("/{}", dataset.file_name())), "{name}");
            assert!(!dataset.description.contains('\n'), "{name}");
            // Lower case matters: computed checksums are compared as text.
            if let Some(sum) = dataset.sha256 {
                let hex = |letter: char| matches!(letter, '0'..='9' | 'a'..='f');
                assert!(sum.len() == 64 && sum.chars().all(hex), "{name}");
            }
            assert_eq!(dataset.in_paper, dataset.sha256.is_some(), "{name}");
        }
    }
}
