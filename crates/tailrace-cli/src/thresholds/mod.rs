//! `tailrace thresholds`: which flows belong into which queue, by the model of the scheme's queues.

mod karuna;
mod pias;

use tailrace_experiment::Error;

use crate::args::{self, Modelled};
use crate::traffic::refuse;

pub fn thresholds(options: &args::Thresholds) -> Result<i32, Error> {
    match options.scheme {
        Modelled::Pias => {
            let why = "means nothing for pias: give --sizes and --load, or --scheme karuna";
            refuse(&options.traffic.by_kind(), why)?;
            pias::thresholds(options)
        }
        Modelled::Karuna => {
            let why = "means nothing for karuna: give --known and --known-load, or the same of --unknown";
            refuse(&options.traffic.alike(), why)?;
            karuna::thresholds(options)
        }
    }
}
