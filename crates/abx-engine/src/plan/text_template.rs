//! Texts in which `{name}` stands for a value of the session.

/// A text with placeholders for values.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TextTemplate(Vec<TemplatePiece>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum TemplatePiece {
    Text(String),
    Value(usize),
}

impl TextTemplate {
    /// Reads a text. `index_of` finds the index of the value with a name. A brace without a
    /// name and a closing brace after it is plain text, so that JSON needs no escapes.
    ///
    /// # Errors
    /// The first unknown name.
    pub fn parse(
        text: &str,
        mut index_of: impl FnMut(&str) -> Option<usize>,
    ) -> Result<TextTemplate, &str> {
        let mut pieces = Vec::new();
        let (mut plain, mut rest) = (String::new(), text);
        while let Some(brace) = rest.find('{') {
            let after = &rest[brace + 1..];
            let Some(name) = name_at(after) else {
                plain.push_str(&rest[..=brace]);
                rest = after;
                continue;
            };
            let value = index_of(name).ok_or(name)?;
            plain.push_str(&rest[..brace]);
            if !plain.is_empty() {
                pieces.push(TemplatePiece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(TemplatePiece::Value(value));
            rest = &after[name.len() + 1..];
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(TemplatePiece::Text(plain));
        }
        Ok(TextTemplate(pieces))
    }

    /// Whether the text is empty for any values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text with these values. Unknown values are left empty.
    pub(crate) fn fill(&self, values: &[Option<String>]) -> String {
        let mut out = String::new();
        for piece in &self.0 {
            match piece {
                TemplatePiece::Text(text) => out.push_str(text),
                TemplatePiece::Value(index) => {
                    out.push_str(values[*index].as_deref().unwrap_or_default());
                }
            }
        }
        out
    }
}

/// The name at the beginning of a text, if a closing brace follows it.
fn name_at(text: &str) -> Option<&str> {
    let (name, _) = text.split_once('}')?;
    is_value_name(name).then_some(name)
}

/// Whether a text may be the name of a value: letters, digits and `_`, and no digit first.
#[must_use]
pub fn is_value_name(text: &str) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(is_allowed) && text.starts_with(|first: char| !first.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_braces_become_values_and_other_braces_stay() {
        // Method: JSON with a value in it, adjacent values, and braces of every other kind.
        let index_of = |name: &str| ["user", "token"].iter().position(|known| *known == name);
        let values = [Some("7".to_owned()), Some("a{user}".to_owned())];
        for (text, expected) in [
            (
                r#"{"user":{user},"more":{"a":{}}}"#,
                r#"{"user":7,"more":{"a":{}}}"#,
            ),
            ("/{user}{token}/x", "/7a{user}/x"),
            ("{ token } {1} {to ken} {", "{ token } {1} {to ken} {"),
            ("{{user}}", "{7}"),
            ("", ""),
        ] {
            let template = TextTemplate::parse(text, index_of).unwrap();
            assert_eq!(template.fill(&values), expected, "{text}");
            assert_eq!(template.is_empty(), expected.is_empty());
        }
        assert_eq!(TextTemplate::parse("/{tokn}/{x}", index_of), Err("tokn"));
    }
}
