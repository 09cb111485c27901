//! A scheme of the smallest kind whose headers or parameters are wrong in one way.

use std::marker::PhantomData;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tailrace_conformance::{checks_of_parts, headers, params, verdict};
use tailrace_core::{
    AckSample, Allowance, Bytes, CongestionLaw, Facts, FlowInfo, FlowView, Header, Knowledge, Loss,
    ParamError, PortFacts, Scheme, Segment, Time, Untagged,
};
use tailrace_queues::{MarkingScope, MultiQueue, PortParams};

use crate::conformance::mutants::caught;

/// What may be wrong with a header: nothing, or one thing.
const NOTHING: u8 = 0;
const LOSES_A_BIT: u8 = 1;
const PANICS_ON_FEW_BYTES: u8 = 2;
const LONGER_THAN_SAID: u8 = 3;
const NOTHING_TAKES_BYTES: u8 = 4;
const READS_WHAT_IT_DOES_NOT_WRITE: u8 = 5;
const KEEPS_SOMETHING_BACK: u8 = 6;

/// What a flow has sent before this packet, and that it did.
#[derive(Clone, Copy, Debug)]
pub struct Note<const FAULT: u8> {
    before: u32,
    said: bool,
    /// Not on the wire.
    hidden: bool,
}

impl<const FAULT: u8> Header for Note<FAULT> {
    const NONE: Self = Note { before: 0, said: false, hidden: false };
    const WIRE_BYTES: u16 = 5;

    fn encode(&self, out: &mut [u8]) {
        let before = if FAULT == LOSES_A_BIT { self.before & !4 } else { self.before };
        out[0] = u8::from(self.said);
        out[1..5].copy_from_slice(&before.to_be_bytes());
    }
    fn decode(raw: &[u8]) -> Option<Self> {
        if FAULT == PANICS_ON_FEW_BYTES && raw[0] > 1 {
            return None;
        }
        let (&[said, b0, b1, b2, b3], _) = raw.split_first_chunk()?;
        let known = said <= 1 || FAULT == READS_WHAT_IT_DOES_NOT_WRITE;
        let before = u32::from_be_bytes([b0, b1, b2, b3]);
        known.then_some(Note { before, said: said > 0, hidden: false })
    }
    fn wire_bytes(&self) -> u16 {
        match FAULT {
            LONGER_THAN_SAID if self.said => 6,
            NOTHING_TAKES_BYTES => 5,
            _ => {
                if self.said {
                    5
                } else {
                    0
                }
            }
        }
    }
    fn returned(&self) -> Self {
        if self.hidden { Self::NONE } else { *self }
    }
}

/// Twenty segments in flight, with notes.
pub struct NotingLaw<const FAULT: u8>;

impl<const FAULT: u8> CongestionLaw<Note<FAULT>> for NotingLaw<FAULT> {
    fn stamp(&mut self, _: Time, segment: &Segment, _: &FlowView) -> Note<FAULT> {
        Note { before: segment.before.get() as u32, said: true, hidden: FAULT == KEEPS_SOMETHING_BACK }
    }
    fn on_ack(&mut self, _: &AckSample, _: &FlowView) {}
    fn on_loss(&mut self, _: Time, _: Loss, _: &FlowView) {}
    fn allowance(&self) -> Allowance {
        Allowance { window: Bytes::new(20 * 1_460), pacing: None }
    }
}

/// The scheme: a fixed window over one queue, with parameters `P`.
pub struct Noting<P, const FAULT: u8>(PhantomData<P>);

/// What parameters must be.
pub trait Parameters: DeserializeOwned + Serialize + JsonSchema + Default + Clone + 'static {
    /// Whether the scheme takes them.
    const TAKEN: bool = true;
}

impl<P: Parameters, const FAULT: u8> Scheme for Noting<P, FAULT> {
    const NAME: &'static str = "noting";
    const SUMMARY: &'static str = "a fixed window";
    const SOURCE: &'static str = "here";
    const KNOWS: Knowledge = Knowledge::NOTHING;
    type Params = P;
    type Header = Note<FAULT>;
    type Law = NotingLaw<FAULT>;
    type Host = Untagged;
    type Port = MultiQueue<Note<FAULT>>;

    fn new(_: P, _: &Facts) -> Result<Self, ParamError> {
        if P::TAKEN { Ok(Noting(PhantomData)) } else { Err(ParamError::new("window", "is never right")) }
    }
    fn ecn(&self) -> bool {
        false
    }
    fn law(&self, _: &FlowInfo) -> NotingLaw<FAULT> {
        NotingLaw
    }
    fn host(&self) -> Untagged {
        Untagged
    }
    fn port(&self, port: &PortFacts) -> Self::Port {
        MultiQueue::new(&PortParams { marking: MarkingScope::None, ..PortParams::one_queue() }, port)
    }
}

/// Parameters as they should be.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Right {
    /// Segments in flight.
    window: u32,
}
impl Parameters for Right {}

#[test]
fn the_scheme_without_a_fault_conforms() {
    type Good = Noting<Right, NOTHING>;
    assert_eq!(verdict::<Good>(&checks_of_parts::<Good>()), Ok(()));
}

#[test]
fn headers_that_are_wrong_are_caught() {
    caught(headers::go_there_and_back::<Noting<Right, LOSES_A_BIT>>, "as Note");
    caught(headers::go_there_and_back::<Noting<Right, PANICS_ON_FEW_BYTES>>, "panics: index out of bounds");
    caught(headers::go_there_and_back::<Noting<Right, LONGER_THAN_SAID>>, "takes 6 bytes, of at most 5");
    caught(headers::go_there_and_back::<Noting<Right, NOTHING_TAKES_BYTES>>, "says nothing takes 5 bytes");
    caught(headers::go_there_and_back::<Noting<Right, READS_WHAT_IT_DOES_NOT_WRITE>>, "which it writes as");
    caught(headers::go_there_and_back::<Noting<Right, KEEPS_SOMETHING_BACK>>, "hidden: true } as Note");
}

/// A field without words.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Wordless {
    window: u32,
}
impl Parameters for Wordless {}

/// Takes whatever is written.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Tolerant {
    /// Segments in flight.
    window: u32,
}
impl Parameters for Tolerant {}

/// Is read as something else than was written.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Forgetful {
    /// Segments in flight.
    #[serde(deserialize_with = "one_more")]
    window: u32,
}
impl Parameters for Forgetful {}

fn one_more<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    u32::deserialize(from).map(|window| window + 1)
}

/// Is never taken.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Refused {
    /// Segments in flight.
    window: u32,
}
impl Parameters for Refused {
    const TAKEN: bool = false;
}

#[test]
fn parameters_that_are_wrong_are_caught() {
    caught(params::are_documented_and_round_trip::<Noting<Wordless, NOTHING>>, "window has no doc comment");
    caught(params::are_documented_and_round_trip::<Noting<Tolerant, NOTHING>>, "takes unknown fields");
    caught(params::are_documented_and_round_trip::<Noting<Forgetful, NOTHING>>, "read as other parameters");
    caught(params::are_documented_and_round_trip::<Noting<Refused, NOTHING>>, "refuses its own defaults");
}
