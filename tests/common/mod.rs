//! What the tests of the manifest and the judge share: the names, flags and arguments of the tools.

pub(crate) mod stand_in;

use toolgate::model::{Argument, Flag, Flags, ToolSpec};

const fn argument(name: &'static str, default: Option<&'static str>) -> Argument {
    Argument { name, default }
}

const fn spec(name: &'static str, flags: &[Flag], arguments: &'static [Argument]) -> ToolSpec {
    ToolSpec { name, flags: Flags::of(flags), arguments }
}

/// The tools of the contract.
pub(crate) static SPECS: [ToolSpec; 11] = [
    spec(
        "read_file",
        &[Flag::ReadFile],
        &[argument("path", None), argument("offset", Some("1")), argument("limit", None), argument("encoding", Some("\"utf-8\""))],
    ),
    spec(
        "write_file",
        &[Flag::WriteFile],
        &[
            argument("path", None),
            argument("content", None),
            argument("encoding", Some("\"utf-8\"")),
            argument("mode", Some("\"overwrite\"")),
            argument("expected_sha256", None),
        ],
    ),
    spec(
        "edit_file",
        &[Flag::ReadFile, Flag::WriteFile],
        &[argument("path", None), argument("edits", None), argument("dry_run", Some("false"))],
    ),
    spec(
        "list_directory",
        &[Flag::ReadFile],
        &[argument("path", None), argument("depth", Some("1")), argument("glob", None), argument("limit", Some("1000"))],
    ),
    spec(
        "search_files",
        &[Flag::ReadFile],
        &[
            argument("path", None),
            argument("query", None),
            argument("glob", None),
            argument("context_lines", Some("0")),
            argument("max_results", Some("100")),
        ],
    ),
    spec("file_info", &[Flag::ReadFile], &[argument("path", None)]),
    spec("create_directory", &[Flag::WriteFile], &[argument("path", None)]),
    spec("move_file", &[Flag::ReadFile, Flag::WriteFile], &[argument("from", None), argument("to", None)]),
    spec("delete_file", &[Flag::WriteFile], &[argument("path", None), argument("recursive", Some("false"))]),
    spec(
        "fetch",
        &[Flag::NetworkAccess],
        &[
            argument("url", None),
            argument("method", Some("\"GET\"")),
            argument("headers", None),
            argument("body", None),
            argument("format", Some("\"markdown\"")),
            argument("start_index", Some("0")),
            argument("max_length", None),
            argument("save_to", None),
        ],
    ),
    spec(
        "run_python",
        &[Flag::ExecuteCode],
        &[
            argument("code", None),
            argument("session", None),
            argument("stdin", Some("\"\"")),
            argument("timeout_s", None),
            argument("fresh", Some("false")),
        ],
    ),
];

/// The same as the loader wants them.
pub(crate) fn specs() -> Vec<&'static ToolSpec> {
    SPECS.iter().collect()
}
