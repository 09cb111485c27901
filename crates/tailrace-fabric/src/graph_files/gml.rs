//! GML (Himsolt), as NetworkX, Gephi and the Topology Zoo write it: keys with a number, a text or a list.

use tailrace_config::ScenarioError;

use super::drawn::{Attributes, Drawn, DrawnLink};

/// A value of a key.
enum Value {
    Text(String),
    List(List),
}

/// Keys, their values, and the line of each.
type List = Vec<(String, Value, usize)>;

/// Lists in lists, at most.
const DEEPEST: usize = 32;

fn wrong<T>(line: usize, message: impl Into<String>) -> Result<T, ScenarioError> {
    Err(ScenarioError { line: Some(line), ..ScenarioError::new("", message) })
}

/// Reads the first graph of a file.
pub(super) fn read(text: &str) -> Result<Drawn, ScenarioError> {
    let tokens = tokens(text)?;
    let mut rest = tokens.as_slice();
    let whole = list(&mut rest, 0)?;
    if let Some((_, line)) = rest.first() {
        return wrong(*line, "a ] without its [");
    }
    let graph = whole.into_iter().find_map(|(key, value, _)| match value {
        Value::List(list) if key == "graph" => Some(list),
        _ => None,
    });
    let Some(graph) = graph else {
        return Err(ScenarioError::new("", "holds no graph [ … ]"));
    };
    let mut drawn = Drawn { called_by_label: true, ..Drawn::default() };
    for (key, value, line) in graph {
        match (key.as_str(), value) {
            ("directed", Value::Text(text)) => drawn.directed = text == "1",
            ("node", Value::List(list)) => {
                let mut attributes = texts(list);
                let Some(id) = attributes.remove("id") else { return wrong(line, "a node without id") };
                drawn.nodes.push((id, attributes));
            }
            ("edge", Value::List(list)) => {
                let mut attributes = texts(list);
                let (Some(from), Some(to)) = (attributes.remove("source"), attributes.remove("target"))
                else {
                    return wrong(line, "an edge without source or target");
                };
                drawn.links.push(DrawnLink { ends: [from, to], attributes, line: Some(line) });
            }
            (_, Value::Text(text)) => {
                drawn.attributes.insert(key, text);
            }
            _ => {}
        }
    }
    Ok(drawn)
}

fn texts(list: List) -> Attributes {
    let text = |(key, value, _)| match value {
        Value::Text(text) => Some((key, text)),
        Value::List(_) => None,
    };
    list.into_iter().filter_map(text).collect()
}

/// A word, a text in quotes, or a bracket.
enum Token {
    Word(String),
    Quoted(String),
    Open,
    Close,
}

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, ScenarioError> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let end = match first {
            '"' => {
                let Some(length) = rest[1..].find('"') else { return wrong(line, "a \" without its end") };
                tokens.push((Token::Quoted(unescaped(&rest[1..=length])), line));
                length + 2
            }
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '[' => {
                tokens.push((Token::Open, line));
                1
            }
            ']' => {
                tokens.push((Token::Close, line));
                1
            }
            blank if blank.is_whitespace() => blank.len_utf8(),
            _ => {
                let end = |c: char| c.is_whitespace() || "[]\"".contains(c);
                let length = rest.find(end).unwrap_or(rest.len());
                tokens.push((Token::Word(rest[..length].to_owned()), line));
                length
            }
        };
        line += rest[..end].matches('\n').count();
        rest = &rest[end..];
    }
    Ok(tokens)
}

/// GML writes what is not ASCII, and quotes, as XML does.
fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once(';').and_then(|(entity, after)| Some((decoded(entity)?, after))) {
            Some((letter, after)) => {
                plain.push(letter);
                plain.push_str(after);
            }
            None => {
                plain.push('&');
                plain.push_str(part);
            }
        }
    }
    plain
}

fn decoded(entity: &str) -> Option<char> {
    match entity {
        "quot" => Some('"'),
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "apos" => Some('\''),
        _ => char::from_u32(entity.strip_prefix('#')?.parse().ok()?),
    }
}

/// Keys and values up to the bracket that closes the list, or to the end.
fn list(rest: &mut &[(Token, usize)], depth: usize) -> Result<List, ScenarioError> {
    let mut list = Vec::new();
    loop {
        let (key, line) = match rest.first() {
            None => return Ok(list),
            Some((Token::Close, _)) => return Ok(list),
            Some((Token::Word(word), line)) => (word.clone(), *line),
            Some((_, line)) => return wrong(*line, "a value without its key"),
        };
        *rest = &rest[1..];
        let value = match rest.first() {
            Some((Token::Word(text) | Token::Quoted(text), _)) => Value::Text(text.clone()),
            Some((Token::Open, line)) if depth < DEEPEST => {
                *rest = &rest[1..];
                let inner = self::list(rest, depth + 1)?;
                let Some((Token::Close, _)) = rest.first() else { return wrong(*line, "a [ without its ]") };
                Value::List(inner)
            }
            Some((Token::Open, line)) => {
                return wrong(*line, format!("more than {DEEPEST} lists in one another"));
            }
            _ => return wrong(line, format!("{key} has no value")),
        };
        *rest = &rest[1..];
        list.push((key, value, line));
    }
}
