//! Reads TOML values into types. What the type asks for is known here, and so are the words for what it must be.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IntoDeserializer, Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;
use toml::Value;

use crate::mistake::Mistake;

/// A value that is read.
pub(crate) struct Reader(pub Value);

impl Reader {
    fn refuse<T>(&self, expected: &str) -> Result<T, Mistake> {
        let found = match &self.0 {
            Value::String(text) => Unexpected::Str(text),
            Value::Integer(number) => Unexpected::Signed(*number),
            Value::Float(number) => Unexpected::Float(*number),
            Value::Boolean(value) => Unexpected::Bool(*value),
            Value::Datetime(_) => Unexpected::Other("a date"),
            Value::Array(_) => Unexpected::Seq,
            Value::Table(_) => Unexpected::Map,
        };
        Err(Mistake::must_be(found, expected))
    }

    /// A whole number up to `most`; below 0 as well if `signed`.
    fn whole<'de, V: Visitor<'de>>(self, visitor: V, most: u64, signed: bool) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Integer(number) if signed || u64::try_from(number).is_ok_and(|number| number <= most) => {
                visitor.visit_i64(number)
            }
            _ if signed => self.refuse("a whole number"),
            _ if most <= u64::from(u16::MAX) => self.refuse(&format!("a whole number from 0 to {most}")),
            _ => self.refuse("a whole number from 0 on"),
        }
    }
}

/// Methods that read whole numbers up to the most that a type holds; negative ones too if it is signed.
macro_rules! whole_numbers {
    ($($method:ident: $most:expr, $signed:literal;)*) => {
        $(fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
            self.whole(visitor, $most, $signed)
        })*
    };
}

impl<'de> Deserializer<'de> for Reader {
    type Error = Mistake;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::String(text) => visitor.visit_string(text),
            Value::Integer(number) => visitor.visit_i64(number),
            Value::Float(number) => visitor.visit_f64(number),
            Value::Boolean(value) => visitor.visit_bool(value),
            Value::Datetime(_) => Err(Mistake::custom("is a date, but no field takes dates")),
            Value::Array(items) => visitor.visit_seq(SeqDeserializer::new(items.into_iter().map(Reader))),
            Value::Table(table) => visitor
                .visit_map(MapDeserializer::new(table.into_iter().map(|(key, value)| (key, Reader(value))))),
        }
    }

    whole_numbers! {
        deserialize_u8: u8::MAX.into(), false;
        deserialize_u16: u16::MAX.into(), false;
        deserialize_u32: u32::MAX.into(), false;
        deserialize_u64: u64::MAX, false;
        deserialize_i64: u64::MAX, true;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Integer(_) | Value::Float(_) => self.deserialize_any(visitor),
            _ => self.refuse("a number"),
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Boolean(_) => self.deserialize_any(visitor),
            _ => self.refuse("true or false"),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::String(_) => self.deserialize_any(visitor),
            _ => self.refuse("text in quotes"),
        }
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        self.deserialize_string(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Array(_) => self.deserialize_any(visitor),
            _ => self.refuse("a list"),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        match &self.0 {
            Value::Array(items) if items.len() == length => self.deserialize_any(visitor),
            Value::Array(items) => {
                Err(Mistake::custom(format!("is a list of {}, but must be a list of {length}", items.len())))
            }
            _ => self.refuse(&format!("a list of {length}")),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::Table(_) => self.deserialize_any(visitor),
            _ => self.refuse("a table"),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        match self.0 {
            Value::String(name) => visitor.visit_enum(Form { name, content: None }),
            Value::Table(table) => {
                let mut forms = table.into_iter();
                match (forms.next(), forms.next()) {
                    (Some((name, content)), None) => {
                        visitor.visit_enum(Form { name, content: Some(content) })
                    }
                    (None, _) => Err(Mistake::custom("is an empty table, but must have exactly one form")),
                    (Some((one, _)), Some((other, _))) => Err(Mistake::custom(format!(
                        "has two forms, {one} and {other}, but only one form can be given"
                    ))),
                }
            }
            _ => self.refuse("a name in quotes or a table"),
        }
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i128 u128 f32 char bytes byte_buf unit unit_struct tuple_struct identifier ignored_any
    }
}

impl IntoDeserializer<'_, Mistake> for Reader {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

/// One of several forms: a name alone, or with what belongs to it.
struct Form {
    name: String,
    content: Option<Value>,
}

impl<'de> EnumAccess<'de> for Form {
    type Error = Mistake;
    type Variant = Content;
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Content), Mistake> {
        let name = self.name.clone();
        Ok((seed.deserialize(Reader(Value::String(self.name)))?, Content { name, content: self.content }))
    }
}

/// What belongs to a form.
struct Content {
    name: String,
    content: Option<Value>,
}

impl Content {
    fn needed(self) -> Result<Reader, Mistake> {
        let Content { name, content } = self;
        let missing =
            || Mistake::custom(format!("is \"{name}\" alone, but must be a table: {{ {name} = … }}"));
        content.map(Reader).ok_or_else(missing)
    }
}

impl<'de> VariantAccess<'de> for Content {
    type Error = Mistake;
    fn unit_variant(self) -> Result<(), Mistake> {
        match self.content {
            None => Ok(()),
            Some(_) => {
                Err(Mistake::custom(format!("is a table, but must be the name alone: \"{}\"", self.name)))
            }
        }
    }
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, Mistake> {
        seed.deserialize(self.needed()?)
    }
    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, Mistake> {
        self.needed()?.deserialize_tuple(length, visitor)
    }
    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Mistake> {
        self.needed()?.deserialize_map(visitor)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Deserialize;

    use crate::table;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct Everything {
        small: u8,
        whole: u64,
        signed: i64,
        number: f64,
        text: String,
        yes: bool,
        some: Option<u16>,
        pair: Option<[f64; 2]>,
        list: Vec<u16>,
        form: Option<Form>,
        by_name: BTreeMap<String, u8>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase", deny_unknown_fields)]
    enum Form {
        Plain,
        One(u16),
        Two { left: u8 },
    }

    fn read(text: &str) -> Result<Everything, String> {
        table::read(text.parse().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_fits_is_read() {
        let all = read(
            "small = 255\nwhole = 9223372036854775807\nsigned = -1\nnumber = 3\ntext = \"a\"\nyes = true\nsome = 7\n\
             pair = [1, 2.5]\nlist = [1, 2]\nform = { two = { left = 1 } }\nby_name = { x = 1 }",
        );
        let expected = Everything {
            small: 255,
            whole: i64::MAX as u64,
            signed: -1,
            number: 3.0,
            text: "a".to_owned(),
            yes: true,
            some: Some(7),
            pair: Some([1.0, 2.5]),
            list: vec![1, 2],
            form: Some(Form::Two { left: 1 }),
            by_name: BTreeMap::from([("x".to_owned(), 1)]),
        };
        assert_eq!(all, Ok(expected));
        assert_eq!(read("form = \"plain\"").unwrap().form, Some(Form::Plain));
        assert_eq!(read("form = { one = 3 }").unwrap().form, Some(Form::One(3)));
    }

    #[test]
    fn what_does_not_fit_is_said_in_plain_words() {
        for (text, said) in [
            ("smal = 1", "smal: unknown field \"smal\"; did you mean \"small\"?"),
            ("small = 256", "small: is integer `256`, but must be a whole number from 0 to 255"),
            ("some = -1", "some: is integer `-1`, but must be a whole number from 0 to 65535"),
            ("whole = -1", "whole: is integer `-1`, but must be a whole number from 0 on"),
            ("signed = 1.5", "signed: is number `1.5`, but must be a whole number"),
            ("number = \"3\"", "number: is string \"3\", but must be a number"),
            ("number = {}", "number: is a table, but must be a number"),
            ("number = 1979-05-27", "number: is a date, but must be a number"),
            ("text = 3", "text: is integer `3`, but must be text in quotes"),
            ("yes = 1", "yes: is integer `1`, but must be true or false"),
            ("pair = [1]", "pair: is a list of 1, but must be a list of 2"),
            ("pair = 1", "pair: is integer `1`, but must be a list of 2"),
            ("list = {}", "list: is a table, but must be a list"),
            ("list = [1, -1]", "list[1]: is integer `-1`, but must be a whole number from 0 to 65535"),
            ("by_name = []", "by_name: is a list, but must be a table"),
            ("form = 3", "form: is integer `3`, but must be a name in quotes or a table"),
            ("form = {}", "form: is an empty table, but must have exactly one form"),
            ("form = \"plan\"", "form: unknown value \"plan\"; did you mean \"plain\"?"),
            ("form = \"one\"", "form.one: is \"one\" alone, but must be a table: { one = … }"),
            ("form = { plain = 1 }", "form.plain: is a table, but must be the name alone: \"plain\""),
            (
                "form = { one = 1, plain = 2 }",
                "form: has two forms, one and plain, but only one form can be given",
            ),
            ("form = { two = 1 }", "form.two: is integer `1`, but must be a table"),
            ("form = { two = {} }", "form.two: missing field `left`"),
        ] {
            assert_eq!(read(text).unwrap_err(), said, "{text}");
        }
    }
}
