//! A long-running command's signals and its page of metrics.

mod page;
mod signals;

pub use page::{Page, Server, bind, serve};
pub use signals::{notice, unreadable};
