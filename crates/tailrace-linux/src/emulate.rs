//! A fabric between hosts that run whatever programs they like, until somebody says stop.

use std::ops::ControlFlow;

use tailrace_core::{LiveError, Outcome, Running, Scheme, Time, View};

use crate::driver::Driver;

/// How often the fabric is looked at.
pub const LOOK_EVERY: Time = Time::from_ms(200);

/// Runs a fabric without Tailrace's transport, whose feed must be empty, until `watch` says stop. It is shown the fabric
/// every [`LOOK_EVERY`].
pub fn emulate<S: Scheme>(
    driver: Driver<'_, S>,
    watch: &mut dyn FnMut(View) -> ControlFlow<()>,
) -> Result<Outcome, LiveError> {
    watched(driver, &mut |_, view| watch(view))
}

/// The same, where `watch` may change the fabric.
pub(crate) fn watched<'a, S: Scheme>(
    mut driver: Driver<'a, S>,
    watch: &mut dyn FnMut(&mut Driver<'a, S>, View) -> ControlFlow<()>,
) -> Result<Outcome, LiveError> {
    let mut next_look = Time::ZERO;
    loop {
        // No flow is planned, and none is waited for.
        driver.turn(next_look)?;
        if driver.now() >= next_look {
            next_look = driver.now() + LOOK_EVERY;
            driver.check_links()?;
            let view = view(&mut driver);
            if watch(&mut driver, view).is_break() {
                break;
            }
        }
    }
    let real_time = Some(driver.real_time());
    Ok(Outcome { real_time, ..driver.into_world()?.into_outcome() })
}

fn view<S: Scheme>(driver: &mut Driver<'_, S>) -> View {
    let (now, frame_counters) = (driver.now(), driver.frame_counters());
    let (lateness, entry) = (driver.lag().summary(), driver.entry_lag().summary());
    let frames = driver.frames().clone();
    let world = driver.world();
    View {
        now,
        ports: world.ports(),
        ledger: world.ledger(),
        frame_counters,
        lateness,
        entry,
        frames,
        reported: world.take_series(),
    }
}
