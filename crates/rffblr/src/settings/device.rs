//! Where a fit or a prediction is computed.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// What computes. It changes how long a fit takes, not what is learned: it is no part of a model and in no file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The GPU where there is one and it is measured to be faster, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// The NVIDIA GPU with this number, counted from 0; an error where it cannot be used.
    Cuda(usize),
}

impl FromStr for Device {
    type Err = String;

    fn from_str(text: &str) -> Result<Device, String> {
        match text {
            "auto" => Ok(Device::Auto),
            "cpu" => Ok(Device::Cpu),
            "cuda" => Ok(Device::Cuda(0)),
            _ => text
                .strip_prefix("cuda:")
                .and_then(|number| number.parse().ok())
                .map(Device::Cuda)
                .ok_or_else(|| "write auto, cpu, cuda, or cuda:1 for the second GPU".into()),
        }
    }
}

impl Display for Device {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Device::Auto => write!(f, "auto"),
            Device::Cpu => write!(f, "cpu"),
            Device::Cuda(0) => write!(f, "cuda"),
            Device::Cuda(number) => write!(f, "cuda:{number}"),
        }
    }
}
