//! What a call would do, as values: arguments after strict parsing, before anybody has looked at the world.

use std::collections::BTreeMap;

use super::{Bytes, CallPath, Statement, StatementKind};

macro_rules! actions {
    ($($(#[$doc:meta])* $kind:ident,)*) => {
        /// One planned action. A new kind is one struct and one variant; the compiler lists every rule that must answer it.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Action { $($(#[$doc])* $kind($kind),)* }

        $(impl TryFrom<Action> for $kind {
            type Error = Action;

            /// The action as this kind; any other kind comes back as it was.
            fn try_from(action: Action) -> Result<Self, Action> {
                match action {
                    Action::$kind(part) => Ok(part),
                    other => Err(other),
                }
            }
        })*
    };
}

actions! {
    /// Read one file.
    ReadFile,
    /// Create, replace or lengthen one file.
    WriteFile,
    /// Replace exact passages of files, all or none.
    EditFiles,
    /// List a folder.
    ListDirectory,
    /// Search names or contents below a folder.
    SearchFiles,
    /// Facts about one path.
    FileInfo,
    /// Create a folder and the missing ones above it.
    CreateDirectory,
    /// Rename a file or folder.
    MoveFile,
    /// Copy one file.
    CopyFile,
    /// Delete a file or folder.
    DeleteFile,
    /// Fetch a URL.
    Fetch,
    /// Run a Python program.
    RunPython,
    /// Run a statement in a database, or list its tables.
    QueryDatabase,
    /// Send a mail.
    SendEmail,
}

/// What an action does, whatever tool it is of. What it does to each path is its [`Access`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads what is in a root.
    Reads,
    /// Replaces the content of files.
    Changes,
    /// Makes a folder.
    Makes,
    /// Gives something another name.
    Moves,
    /// Makes a copy.
    Copies,
    /// Takes away what is there.
    Removes,
    /// Reads from a host.
    Fetches,
    /// Sends to a host.
    Sends,
    /// Runs a program.
    Runs,
    /// Runs a statement of this kind in a database.
    Queries(StatementKind),
}

impl Action {
    /// What it does: the one answer for each kind of action, from which its level and what a yes may cover are computed.
    pub fn effect(&self) -> Effect {
        match self {
            Self::ReadFile(_) | Self::ListDirectory(_) | Self::SearchFiles(_) | Self::FileInfo(_) => Effect::Reads,
            Self::WriteFile(_) | Self::EditFiles(_) => Effect::Changes,
            Self::CreateDirectory(_) => Effect::Makes,
            Self::MoveFile(_) => Effect::Moves,
            Self::CopyFile(_) => Effect::Copies,
            Self::DeleteFile(_) => Effect::Removes,
            Self::Fetch(fetch) if matches!(fetch.method.as_str(), "GET" | "HEAD") && fetch.body.is_none() => Effect::Fetches,
            Self::Fetch(_) | Self::SendEmail(_) => Effect::Sends,
            Self::RunPython(_) => Effect::Runs,
            Self::QueryDatabase(query) => Effect::Queries(query.kind()),
        }
    }
}

/// How file contents are encoded in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
pub enum Encoding {
    /// As text.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As base64 (RFC 4648 section 4).
    #[serde(rename = "base64")]
    Base64,
}

/// `read_file`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadFile {
    /// The file.
    pub path: CallPath,
    /// First line, from 1.
    pub offset: u64,
    /// Most lines; all when absent.
    pub limit: Option<u64>,
    /// First character of the first line, from 1; with base64 its first byte.
    pub column: u64,
    /// Whether each line is shown with its number before it.
    pub line_numbers: bool,
    /// How the content is sent.
    pub encoding: Encoding,
}

/// What a write does with an existing file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WriteMode {
    /// Replaces it.
    #[default]
    Overwrite,
    /// Fails when it exists.
    Create,
    /// Adds to its end.
    Append,
}

/// `write_file`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WriteFile {
    /// The file.
    pub path: CallPath,
    /// The bytes to write, decoded.
    pub content: Vec<u8>,
    /// What happens with an existing file.
    pub mode: WriteMode,
    /// The digest the existing file must have (64 lower-case hex digits).
    pub expected_sha256: Option<String>,
}

/// One exact replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The passage, exactly once in the file unless `replace_all`.
    pub old_text: String,
    /// What takes its place.
    pub new_text: String,
    /// Replace every occurrence.
    pub replace_all: bool,
}

/// `edit_file` and `edit_files`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditFiles {
    /// The replacements, each with its file; those of one file are applied in order.
    pub edits: Vec<(CallPath, Edit)>,
    /// Only show the diff.
    pub dry_run: bool,
}

impl EditFiles {
    /// Most files of one call.
    pub const MOST: usize = 50;

    /// The files in the order in which they are named first, each with its edits and their places in the call.
    pub fn files(&self) -> Vec<(&CallPath, Vec<(usize, &Edit)>)> {
        let mut files: Vec<(&CallPath, Vec<(usize, &Edit)>)> = Vec::new();
        for (at, (path, edit)) in self.edits.iter().enumerate() {
            match files.iter_mut().find(|(known, _)| *known == path) {
                Some((_, edits)) => edits.push((at, edit)),
                None => files.push((path, vec![(at, edit)])),
            }
        }
        files
    }
}

/// `list_directory`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListDirectory {
    /// The folder; none: the roots of the caller's profile.
    pub path: Option<CallPath>,
    /// How many folders deep, from 1.
    pub depth: u32,
    /// Only entries whose path below `path` matches.
    pub glob: Option<String>,
    /// Most entries.
    pub limit: u32,
    /// Whether entries that `.gitignore` files name are listed as well.
    pub ignored: bool,
}

/// `search_files`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchFiles {
    /// The folder.
    pub path: CallPath,
    /// A regular expression for lines; names alone are listed when absent.
    pub query: Option<String>,
    /// Only files whose path below `path` matches.
    pub glob: Option<String>,
    /// Lines around each match, 0 to 20.
    pub context_lines: u32,
    /// Most results.
    pub max_results: u32,
}

/// `file_info`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileInfo {
    /// The path.
    pub path: CallPath,
}

/// `create_directory`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreateDirectory {
    /// The folder.
    pub path: CallPath,
}

/// `move_file`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveFile {
    /// What is moved.
    pub from: CallPath,
    /// Its new name.
    pub to: CallPath,
}

/// `copy_file`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopyFile {
    /// What is copied.
    pub from: CallPath,
    /// The copy's name.
    pub to: CallPath,
}

/// `delete_file`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeleteFile {
    /// What is deleted.
    pub path: CallPath,
    /// Also a folder with what is below it.
    pub recursive: bool,
}

/// The form in which a page is answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// The main content as Markdown.
    #[default]
    Markdown,
    /// The main content as plain text.
    Text,
    /// The source as it came.
    Html,
    /// JSON, indented.
    Json,
}

/// Where Markdown has the targets of its links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Links {
    /// In the text.
    #[default]
    Inline,
    /// At the end, numbered.
    Footnotes,
}

/// `fetch`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    /// The URL as the caller wrote it; the judge parses it.
    pub url: String,
    /// `GET`, `HEAD`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub method: String,
    /// Request headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// The body to send.
    pub body: Option<String>,
    /// The form of the answer.
    pub format: Format,
    /// First character of the answer, from 0.
    pub start_index: u64,
    /// Most characters of the answer; the manifest's `max_answer` bounds it as well.
    pub max_length: Option<u64>,
    /// A file in a root that takes the body instead.
    pub save_to: Option<CallPath>,
    /// Where the targets of links stand.
    pub links: Links,
}

/// `run_python`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunPython {
    /// The program.
    pub code: String,
    /// `new`, or the handle of a living interpreter.
    pub session: Option<String>,
    /// What the program reads from standard input.
    pub stdin: String,
    /// Wall-clock limit in seconds, at most the manifest's.
    pub timeout_s: Option<u64>,
    /// A cold interpreter that shares nothing with earlier calls.
    pub fresh: bool,
    /// Whether the program came in a Markdown fence, which is no part of it.
    pub fenced: bool,
}

/// `query_database`
#[derive(Debug, Clone, PartialEq)]
pub struct QueryDatabase {
    /// The database's name in the manifest.
    pub database: String,
    /// The statement; none: the tables and columns are listed.
    pub sql: Option<String>,
    /// Its parameters, in order: null, truth values, numbers and texts.
    pub params: Vec<serde_json::Value>,
    /// Most rows of the answer.
    pub max_rows: Option<u64>,
    /// What the statement is; known once it was judged.
    pub statement: Option<Statement>,
    /// The file of the database, as the manifest has it; known once the call was judged, and none where the database is no file.
    pub file: Option<CallPath>,
}

impl QueryDatabase {
    /// What it does to the database.
    pub fn kind(&self) -> StatementKind {
        self.statement.as_ref().map_or(StatementKind::Read, |statement| statement.kind)
    }
}

/// `send_email`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SendEmail {
    /// The recipients.
    pub to: Vec<String>,
    /// The recipients of a copy.
    pub cc: Vec<String>,
    /// The subject.
    pub subject: String,
    /// The text.
    pub body: String,
    /// Files that go with it.
    pub attachments: Vec<CallPath>,
}

impl SendEmail {
    /// Everybody that it is sent to.
    pub fn recipients(&self) -> impl Iterator<Item = &String> {
        self.to.iter().chain(&self.cc)
    }
}

/// What an action wants with one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read the content of a regular file.
    Read,
    /// See the entries of a folder; entries that are not allowed are left out.
    List,
    /// See type, size and times.
    Stat,
    /// Put this many bytes into a file.
    Write(Bytes),
    /// Read and replace the content of an existing file.
    Edit,
    /// Make a folder.
    CreateDirectory,
    /// Take the path away, with all below it, to a new name.
    MoveFrom,
    /// Give the new name.
    MoveTo,
    /// Use a file as a database.
    Database {
        /// Whether the database may be changed.
        writes: bool,
    },
    /// Remove the path, with all below it where asked.
    Delete {
        /// Whether a folder's content goes too.
        recursive: bool,
    },
}

impl Access {
    /// Whether the access changes anything.
    pub fn writes(self) -> bool {
        !matches!(self, Access::Read | Access::List | Access::Stat | Access::Database { writes: false })
    }

    /// Whether the folders above the path are made where they are missing.
    pub const fn makes_folders(self) -> bool {
        matches!(self, Access::Write(_) | Access::MoveTo)
    }

    /// Whether the access leaves something at the path.
    pub fn places(self) -> bool {
        matches!(self, Access::Write(_) | Access::Edit | Access::CreateDirectory | Access::MoveTo)
    }
}

/// One path of an action and what is wanted with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touch {
    /// The path as the caller wrote it.
    pub path: CallPath,
    /// What is wanted with it.
    pub access: Access,
}

impl Action {
    /// Every path the action touches, in the order in which facts about them are given. Python's roots come from the
    /// manifest, not from the action.
    pub fn touches(&self) -> Vec<Touch> {
        let touch = |path: &CallPath, access| Touch { path: path.clone(), access };
        let one = |path: &CallPath, access| vec![touch(path, access)];
        match self {
            Action::ReadFile(a) => one(&a.path, Access::Read),
            Action::WriteFile(a) => one(&a.path, Access::Write(Bytes(a.content.len() as u64))),
            Action::EditFiles(a) => {
                let access = if a.dry_run { Access::Read } else { Access::Edit };
                a.files().into_iter().map(|(path, _)| touch(path, access)).collect()
            }
            Action::ListDirectory(a) => a.path.iter().map(|path| touch(path, Access::List)).collect(),
            Action::SearchFiles(a) => one(&a.path, Access::List),
            Action::FileInfo(a) => one(&a.path, Access::Stat),
            Action::CreateDirectory(a) => one(&a.path, Access::CreateDirectory),
            Action::MoveFile(a) => vec![touch(&a.from, Access::MoveFrom), touch(&a.to, Access::MoveTo)],
            // The source's size is judged as it is read; the copy is as long.
            Action::CopyFile(a) => vec![touch(&a.from, Access::Read), touch(&a.to, Access::Write(Bytes(0)))],
            Action::DeleteFile(a) => one(&a.path, Access::Delete { recursive: a.recursive }),
            // The size is not known before the response is read; the writer holds the file limit.
            Action::Fetch(a) => a.save_to.iter().map(|path| touch(path, Access::Write(Bytes(0)))).collect(),
            Action::RunPython(_) => Vec::new(),
            Action::SendEmail(a) => a.attachments.iter().map(|path| touch(path, Access::Read)).collect(),
            Action::QueryDatabase(a) => {
                let access = Access::Database { writes: a.kind() > StatementKind::Read };
                a.file.iter().map(|path| touch(path, access)).collect()
            }
        }
    }
}
