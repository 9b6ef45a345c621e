//! Media types by the ends of names: one of a list, whatever the name says.

/// Those that are shown.
pub(super) const PICTURES: [&str; 2] = ["image/png", "image/jpeg"];

/// Each line: the end of a name, and its type.
const TYPES: &str = include_str!("mime.txt");

/// The type of a file by the end of its name.
pub(super) fn mime(path: &str) -> &'static str {
    let name = path.rsplit_once('/').map_or(path, |(_, name)| name);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    let known = TYPES.lines().filter_map(|line| line.split_once(' ')).find(|(end, _)| *end == extension);
    known.map_or("application/octet-stream", |(_, kind)| kind)
}
