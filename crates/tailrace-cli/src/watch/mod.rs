//! A fabric while it runs, live or simulated, on a terminal or in lines.

mod board;
mod running;
mod screen;
pub mod text;

#[cfg(all(test, live))]
pub use board::tests;
#[cfg(live)]
pub use board::{Board, PortName, Report, Spot};
pub use running::Watching;
#[cfg(live)]
pub use screen::Screen;
