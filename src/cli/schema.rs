//! `toolgate schema`: the JSON Schema of `tools.toml`, for editors.

use std::io::{self, Write};

/// Writes the schema, indented, with a line end.
///
/// # Errors
/// What writing failed with.
pub fn write(output: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *output, crate::manifest::schema())?;
    output.write_all(b"\n")
}
