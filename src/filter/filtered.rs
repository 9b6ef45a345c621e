//! The second token: an answer that has been through the filter, and nothing else.

use serde_json::{Map, Value, json};

use super::clean::clean_bytes;
use super::{Cleaned, Count, Origin, Settings, clean};
use crate::model::{Block, Code, Field, Origin as Source, Output, Refusal};

/// An answer that may be shown. Only the filter makes one.
#[derive(Debug)]
pub struct Filtered(Parts);

/// Whether the content of a file was looked through before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    /// It was, and nothing was found.
    Clean,
    /// It was not, or something was.
    No,
}

/// What a filtered answer holds.
#[derive(Debug)]
pub struct Parts {
    /// The pieces in order.
    pub blocks: Vec<Block>,
    /// The structured answer.
    pub structured: Option<Map<String, Value>>,
    /// Facts about the answer.
    pub meta: Map<String, Value>,
    /// Whether the model is told that the tool failed.
    pub is_error: bool,
    /// The code of a failed answer.
    pub code: Option<Code>,
    /// Bytes written to roots.
    pub bytes_written: u64,
    /// Bytes sent out.
    pub bytes_sent: u64,
    /// For the record alone.
    pub notes: Vec<String>,
}

impl Filtered {
    /// Cleans an output: every text by where it comes from. `delimiter`: fresh random letters and digits that no text can know.
    /// # Errors  When the manifest denies what was found.
    pub fn of(output: Output, settings: &Settings, delimiter: &str, known: Known) -> Result<Self, Refusal> {
        let page = output.meta.get("toolgate/page").and_then(|page| page.get("final_url")).and_then(Value::as_str).map(str::to_owned);
        let mut filter = Filter { settings, delimiter, known, page: page.unwrap_or_default(), found: Vec::new() };
        let mut blocks = Vec::with_capacity(output.blocks.len());
        for block in output.blocks {
            blocks.push(match block {
                Block::Text { text, origin } => Block::Text { text: filter.clean(text, origin)?, origin },
                image @ Block::Image { .. } => image,
            });
        }
        let structured = output.structured.map(|fields| filter.object(fields)).transpose()?;
        let mut meta = output.meta;
        if let Some(Value::Object(facts)) = meta.get_mut("toolgate/page") {
            // The title of a page is a stranger's word as well, wherever a client shows it.
            for text in facts.values_mut().filter_map(|value| if let Value::String(text) = value { Some(text) } else { None }) {
                *text = filter.clean(super::escape_line(text).into_owned(), Source::Program)?;
            }
        }
        if !filter.found.is_empty() {
            meta.insert(FOUND.to_owned(), json!({"found": filter.found}));
        }
        let Output { is_error, code, bytes_written, bytes_sent, notes, .. } =
            Output { blocks: Vec::new(), structured: None, meta: Map::new(), ..output };
        Ok(Self(Parts { blocks, structured, meta, is_error, code, bytes_written, bytes_sent, notes }))
    }

    /// Whether nothing was found in it.
    pub fn is_clean(&self) -> bool {
        !self.0.meta.contains_key(FOUND)
    }

    /// What it holds, to look at.
    pub fn parts(&self) -> &Parts {
        &self.0
    }

    /// What it holds, to send.
    pub fn into_parts(self) -> Parts {
        self.0
    }
}

/// What was found in an answer, in its `_meta`.
const FOUND: &str = "toolgate/filter";

/// The cleaning of one answer.
struct Filter<'a> {
    settings: &'a Settings,
    delimiter: &'a str,
    known: Known,
    /// The address of the page, where the answer is one.
    page: String,
    found: Vec<Count>,
}

impl Filter<'_> {
    /// Our own words and names pass; the bytes of a file change only where a secret is masked; what strangers wrote is marked as theirs.
    fn clean(&mut self, text: String, origin: Source) -> Result<String, Refusal> {
        let cleaned = match origin {
            Source::Own => return Ok(text),
            // The very content was looked through before, under the same settings, and nothing was in it.
            Source::File if self.known == Known::Clean => return Ok(text),
            // The output of a program is its caller's own, unless the program was told to read what others wrote; secrets are masked in both.
            Source::File | Source::Program => match clean_bytes(&text, self.settings) {
                None => return Ok(text),
                Some(cleaned) if !cleaned.masked => Cleaned { text, ..cleaned },
                Some(cleaned) => cleaned,
            },
            Source::Page => clean(&text, self.settings, Origin::Untrusted { source: &self.page, delimiter: self.delimiter }),
        };
        if let Some(refusal) = cleaned.denied {
            return Err(refusal);
        }
        self.found.extend(cleaned.found);
        Ok(cleaned.text)
    }

    fn object(&mut self, fields: Vec<(&'static str, Field)>) -> Result<Map<String, Value>, Refusal> {
        fields.into_iter().map(|(name, field)| Ok((name.to_owned(), self.value(field)?))).collect()
    }

    fn value(&mut self, field: Field) -> Result<Value, Refusal> {
        Ok(match field {
            Field::Fact(value) => value,
            Field::Text(text, origin) => Value::String(self.clean(text, origin)?),
            Field::List(items) => {
                let items: Result<_, Refusal> = items.into_iter().map(|fields| self.object(fields).map(Value::Object)).collect();
                Value::Array(items?)
            }
        })
    }
}

impl Parts {
    /// Length of what the model sees, in bytes before encoding.
    pub fn size(&self) -> usize {
        let blocks = self.blocks.iter().map(|block| match block {
            Block::Text { text, .. } => text.len(),
            Block::Image { data, .. } => data.len(),
        });
        blocks.sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_calls_itself_is_cleaned_like_what_it_says() {
        let title = "Key AKIAQ7ZT3N5WXK2VPLMR\u{202e}\nof the house";
        let mut output = Output::text("a page".to_owned());
        output.meta.insert("toolgate/page".to_owned(), json!({"final_url": "https://a.example/", "status": 200, "title": title}));
        let filtered = Filtered::of(output, &Settings::default(), "d", Known::No).unwrap();
        let page = &filtered.parts().meta["toolgate/page"];
        assert_eq!((&page["final_url"], &page["status"]), (&json!("https://a.example/"), &json!(200)));
        let shown = page["title"].as_str().unwrap();
        assert!(shown.starts_with("Key ") && shown.ends_with("of the house"), "{shown}");
        assert!(!shown.contains("AKIA") && !shown.contains('\u{202e}') && !shown.contains('\n'), "{shown}");
        assert!(!filtered.is_clean());
    }
}
