//! Records of live networks: any bytes are replayed, differ, or are refused.

use std::sync::LazyLock;

use tailrace_core::Scheme;
use tailrace_linux::{Record, RecordError, replay};
use tailrace_packet::{Watch, World};
use tailrace_scenario::Scenario;
use tailrace_schemes::dctcp::Dctcp;
use tailrace_workload::feed::Feed;

use super::{Outcome, magnitude};

static SCENARIO: LazyLock<Scenario> = LazyLock::new(|| {
    let text = "[fabric]\npreset = \"micro4\"\n[workload]\nsizes = \"web-search\"\nload = 0.5\nflows = 1\n\
                [scheme]\nname = \"dctcp\"\n";
    Scenario::parse(text).expect("the scenario is right")
});

fn world() -> World<Dctcp> {
    let fabric = SCENARIO.fabric.build();
    let scheme = Dctcp::new(Default::default(), &SCENARIO.facts(&fabric)).expect("the defaults are right");
    let feed = Feed::from(Vec::new());
    World::new(scheme, &fabric, SCENARIO.transport, feed, None, Watch::default(), 1).outside()
}

pub(super) fn check(raw: &[u8]) -> Outcome {
    // Mutations seldom make a head.
    let head = b"TAILREC\x01\0\0\0\0\0\0";
    let whole = if raw.starts_with(b"TAILREC") { raw.to_vec() } else { [head, raw].concat() };
    match Record::open(&whole[..]).and_then(|mut record| replay(world(), &mut record)) {
        Ok(replayed) => {
            let (entered, left) = (magnitude(replayed.entered), magnitude(replayed.left));
            let differs = replayed.difference.is_some();
            Outcome::Used(format!("{entered} {left} {differs} {}", replayed.cut_short))
        }
        Err(RecordError::Damaged(entry)) => Outcome::Refused(format!("damaged {}", magnitude(entry))),
        Err(error) => Outcome::Refused(error.to_string().chars().take(20).collect()),
    }
}
