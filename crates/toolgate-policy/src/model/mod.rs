//! The words of a decision: actions, paths, addresses, facts, refusals.

mod action;
mod address;
mod bytes;
mod call;
mod decision;
mod facts;
mod flags;
mod level;
pub mod name;
mod nearest;
mod output;
mod path;
mod question;
mod refusal;
mod spec;
mod statement;
mod url;
mod word_enum;

pub use action::{
    Access, Action, CopyFile, CreateDirectory, DeleteFile, Edit, EditFiles, Effect, Encoding, Fetch, FileInfo, Format, Links,
    ListDirectory, MoveFile, QueryDatabase, ReadFile, RunPython, SearchFiles, SendEmail, Touch, WriteFile, WriteMode,
};
pub use address::Address;
pub use bytes::Bytes;
pub(crate) use bytes::amount;
pub use call::{Caller, Channel, ClientLabel, Repeat, STDIO, ToolCall};
pub use decision::Decision;
pub use facts::{Entry, Facts, Identity, Kind, Link, PathFact, Spelling};
pub use flags::{Flag, Flags};
pub use level::Level;
pub use nearest::{is_alike, nearest, nearest_argument};
pub use output::{Block, Failure, Field, Origin, Output};
pub use path::{CallPath, RelPath, Target};
pub use question::{Choice, Question};
pub use refusal::{Code, Refusal};
pub use spec::{Argument, Inside, ToolSpec};
pub use statement::{Statement, StatementKind};
pub use url::{Host, HttpUrl, Scheme};
pub(crate) use word_enum::word_enum;
