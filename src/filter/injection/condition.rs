//! Instructions about instructions that a manual gives to people: "ignore the steps above if you use Linux".

/// Whether what stands at `start..end` is bound to a state of a person, or to a subject that one learns. What else is asked of the reader
/// beside it weighs as ever.
pub(super) fn is_for_people(source: &str, start: usize, end: usize) -> bool {
    crate::filter::work::read(2 * REACH);
    let after: String = source.get(end..).unwrap_or_default().chars().take(REACH).collect();
    // A rule may end within a word.
    let after = after.trim_start_matches(char::is_alphanumeric);
    let clause = sentence(after.trim_start_matches([' ', '\n', ',', '，', '、'])).to_lowercase();
    let before: Vec<char> = source.get(..start).unwrap_or_default().chars().rev().take(REACH).collect();
    let before: String = before.into_iter().rev().collect();
    let lead = before.rsplit(ENDS).next().unwrap_or_default().trim_start().to_lowercase();
    let matched = source.get(start..end).unwrap_or_default().to_lowercase();
    if holds(&matched, WHOLE) {
        return false;
    }
    let binds = |clause: &str, openings: &[&[&str]]| {
        openings.iter().copied().flatten().find_map(|words| clause.strip_prefix(words)).is_some_and(speaks_to_people)
    };
    // What is forgotten is a subject only where it was learned.
    let learned = if holds(&matched, LEARNED) { clause.strip_prefix("about ") } else { None };
    learned.is_some_and(speaks_to_people) || binds(&clause, &[ANYWHERE, AFTER]) || binds(&lead, &[ANYWHERE])
}

/// Whether a text holds one of these words; those of scripts without spaces anywhere.
fn holds(text: &str, words: &[&str]) -> bool {
    let is_word = |word: &str| text.split(|c: char| !c.is_alphanumeric()).any(|other| other == word);
    words.iter().any(|word| if word.chars().all(|c| c < '\u{2000}') { is_word(word) } else { text.contains(word) })
}

fn sentence(text: &str) -> &str {
    text.split(ENDS).next().unwrap_or_default()
}

/// Whether a clause names neither a machine that reads nor what binds one.
fn speaks_to_people(clause: &str) -> bool {
    !holds(clause, MACHINES)
}

/// Characters that are looked at on each side.
const REACH: usize = 120;

const ENDS: [char; 8] = ['.', '!', '?', ';', '\n', '。', '！', '？'];

/// How a condition begins, before the words or after them.
const ANYWHERE: &[&str] = &[
    "if you have ",
    "if you've ",
    "if you already ",
    "if you use ",
    "if you are using ",
    "if you're using ",
    "wenn sie ",
    "wenn du ",
    "si vous utilisez ",
    "si tu utilises ",
    "si usa ",
    "si usas ",
    "si utiliza ",
    "如果您使用",
    "如果你使用",
    "如果您已",
    "如果你已",
];

/// How a condition, or the subject of what was learned, begins after the words alone.
const AFTER: &[&str] = &[
    "if you are running ",
    "if you run ",
    "if you installed ",
    "if you only ",
    "if you don't ",
    "if you do not ",
    "if your ",
    "unless you ",
    "before you ",
    "before starting ",
    "before installing ",
    "for each ",
    "for every ",
    "for your records",
    "for all other ",
    "falls sie ",
    "falls du ",
    "sofern sie ",
    "si vous ",
    "si tu ",
    "si utilizas ",
    "si ya ",
    "si tiene ",
    "si tienes ",
    "如果您用",
    "如果你用",
];

/// Words of instructions as a model has them, which no condition of a person binds.
const WHOLE: &[&str] = &[
    "all",
    "any",
    "every",
    "previous",
    "prior",
    "earlier",
    "preceding",
    "your",
    "system",
    "hidden",
    "initial",
    "secret",
    "developer",
    "alle",
    "bisherigen",
    "vorherigen",
    "sämtliche",
    "toutes",
    "tous",
    "précédentes",
    "précédents",
    "todas",
    "todos",
    "anteriores",
    "previas",
    "previos",
    "sistema",
    "système",
    "所有",
    "之前",
    "先前",
    "以前",
    "系统",
];

/// Words of what a person learned.
const LEARNED: &[&str] = &["learn", "learned", "learnt", "know", "knew", "read", "heard"];

/// Words of programs that read, and of what a person's manual does not speak.
pub(super) const MACHINES: &[&str] = &[
    "ai",
    "llm",
    "gpt",
    "claude",
    "gemini",
    "copilot",
    "assistant",
    "model",
    "models",
    "bot",
    "chatbot",
    "agent",
    "agents",
    "machine",
    "ki",
    "ia",
    "modell",
    "modèle",
    "modelo",
    "assistent",
    "asistente",
    "agente",
    "read",
    "reading",
    "see",
    "understand",
    "prompt",
    "system",
    "user",
    "users",
    "conversation",
    "safety",
    "rules",
    "rule",
    "policy",
    "policies",
    "guidelines",
    "instructions",
    "instruction",
    "restrictions",
    "ethics",
    "morals",
    "being",
    "yourself",
    "me",
    "us",
    "this",
    "line",
    "anything",
    "everything",
    "obey",
    "follow",
    "security",
    "before",
    "above",
    "previous",
    "lesen",
    "liest",
    "lisez",
    "lis",
    "lee",
    "lees",
    "访问",
    "阅读",
    "读",
    "人工智能",
    "模型",
    "助手",
    "机器人",
    "看到",
];
