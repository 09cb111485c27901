//! Which connections of an agent's host have the scheme's congestion law.

use std::path::PathBuf;

use serde::Deserialize;
use tailrace_config::{ScenarioError, table};
use toml::{Table, Value};

use super::subnet::Subnet;

/// Connections of programs in these cgroups, to these networks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LawFor {
    /// In these and below; in any if there are none.
    pub cgroups: Vec<PathBuf>,
    /// To any if there are none.
    pub to: Vec<Subnet>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Given {
    #[serde(default)]
    cgroups: Vec<PathBuf>,
    #[serde(default)]
    to: Vec<String>,
}

/// Takes it out of a file; `None` where no connection is to have the law.
pub(super) fn take(given: &mut Table) -> Result<Option<LawFor>, ScenarioError> {
    let read = |fields| {
        let Given { cgroups, to } = table::read(fields)?;
        if let Some(number) = cgroups.iter().position(|path| path.as_os_str().is_empty()) {
            let message = "is empty, but must be a path, such as \"/system.slice/nginx.service\"";
            return Err(ScenarioError::new(format!("cgroups[{number}]"), message));
        }
        let network = |(number, text): (usize, String)| {
            Subnet::try_from(text).map_err(|message| ScenarioError::new(format!("to[{number}]"), message))
        };
        let to = to.into_iter().enumerate().map(network).collect::<Result<_, _>>()?;
        Ok(LawFor { cgroups, to })
    };
    match given.remove("law") {
        None => Ok(None),
        Some(Value::Table(fields)) => {
            read(fields).map(Some).map_err(|error: ScenarioError| error.within("law"))
        }
        Some(_) => Err(ScenarioError::new("law", "must be a table: [law]")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn taken(text: &str) -> Result<Option<LawFor>, String> {
        take(&mut text.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_law_is_for_all_connections_or_for_some() {
        assert_eq!(taken(""), Ok(None));
        assert_eq!(taken("[law]"), Ok(Some(LawFor::default())));
        let some = taken("[law]\ncgroups = [\"/a\"]\nto = [\"10.0.0.0/8\", \"fd00::1\", \"0.0.0.0/0\"]");
        let some = some.unwrap().unwrap();
        assert_eq!(some.cgroups, [PathBuf::from("/a")]);
        let to: Vec<String> = some.to.iter().map(Subnet::to_string).collect();
        assert_eq!(to, ["10.0.0.0/8", "fd00::1/128", "0.0.0.0/0"]);
    }

    #[test]
    fn mistakes_name_what_would_be_right() {
        for (text, said) in [
            ("law = 1", "law: must be a table: [law]"),
            ("[law]\ncgroup = \"/a\"", "law.cgroup: unknown field \"cgroup\"; did you mean \"cgroups\"?"),
            ("[law]\ncgroups = [\"\"]", "law.cgroups[0]: is empty"),
            (
                "[law]\nto = [\"::/0\", \"10.0.0.0/33\"]",
                "law.to[1]: \"10.0.0.0/33\" is no address and no subnet",
            ),
            ("[law]\nto = [\"10.0.0/8\"]", "law.to[0]: \"10.0.0/8\" is no address and no subnet such as"),
        ] {
            let message = taken(text).unwrap_err();
            assert!(message.contains(said), "{said}: {message}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_network_or_a_mistake(text in "[0-9a-f:./]{0,24}") {
            if let Ok(subnet) = Subnet::try_from(text) {
                prop_assert!(subnet.has(subnet.first()));
            }
        }
    }
}
