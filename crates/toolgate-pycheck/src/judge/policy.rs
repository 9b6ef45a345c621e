//! Builtins and exports that may be used in some ways only, as data.

/// How a restricted name may be used. Everything not restricted is an ordinary value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policy {
    /// Not at all: why, and what to write instead.
    Refused(&'static str, &'static str),
    /// Only called, and then judged by its arguments.
    Called(Arguments),
    /// Only as a decorator of a function in a class.
    MethodDecorator,
    /// Only as the decorator of a class.
    ClassDecorator,
    /// Only as a class: base, annotation, in `isinstance`; called with names that can be read.
    EnumClass,
    /// Only as a class of classes: base, `metaclass=`, annotation, in `isinstance`.
    Metaclass,
    /// `type`: called with one value, or as a class.
    Type,
    /// Only named in annotations and `isinstance`.
    Annotation,
}

/// What the arguments of a call must be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arguments {
    /// Anything.
    Any,
    /// `getattr` and its kin: a constant name second.
    AttributeName,
    /// `attrgetter`, `methodcaller`: constant names.
    AttributeNames,
    /// `wraps`, `update_wrapper`: no choice of attributes.
    Wrapper,
    /// The result's `format` or `parse` is called at once.
    Formatter,
    /// A module's constant name.
    Module,
    /// A function instead of text.
    Function,
}

/// The builtins with a policy.
pub(super) const RESTRICTED_BUILTINS: &[&str] = &[
    "__import__",
    "breakpoint",
    "compile",
    "copyright",
    "credits",
    "delattr",
    "eval",
    "exec",
    "exit",
    "getattr",
    "globals",
    "help",
    "input",
    "license",
    "locals",
    "quit",
    "setattr",
    "type",
    "vars",
];

/// The policy of a builtin.
pub(super) fn builtin_policy(name: &str) -> Option<Policy> {
    Some(match name {
        "eval" | "exec" | "compile" => {
            Policy::Refused("runs text as code", "write the code itself; to read data use `json.loads`, `int` or `float`")
        }
        "__import__" => Policy::Refused("imports by a name that is worked out at run time", "use an `import` statement"),
        "globals" | "locals" | "vars" => Policy::Refused("hands out a whole namespace", "keep the values in a `dict` of your own"),
        "breakpoint" | "help" => Policy::Refused("starts an interactive tool", "remove it; nobody can answer"),
        "input" => Policy::Refused(
            "reads standard input, and none is given",
            "give `stdin` with the call, put the value into the program, or define a function of that name first",
        ),
        "license" | "copyright" | "credits" => Policy::Refused("belongs to interactive sessions", "remove it"),
        "getattr" | "setattr" | "delattr" => Policy::Called(Arguments::AttributeName),
        "exit" | "quit" => Policy::Called(Arguments::Any),
        "type" => Policy::Type,
        _ => return None,
    })
}

/// The policy of a name out of a module.
pub(super) fn export_policy(module: &str, name: &str) -> Option<Policy> {
    const TEXT: &str = "evaluates text as code";
    const OWN: &str = "write it as ordinary code";
    Some(match (module, name) {
        ("typing", "get_type_hints" | "evaluate_forward_ref" | "ForwardRef")
        | ("annotationlib", _)
        | ("inspect", "get_annotations" | "signature") => Policy::Refused(TEXT, "read the annotations you need as constants of your own"),
        ("dataclasses", "make_dataclass") => Policy::Refused("builds a class from text", "write the class with `@dataclass`"),
        ("types", "FunctionType" | "LambdaType" | "CodeType" | "new_class" | "prepare_class" | "resolve_bases") => {
            Policy::Refused("builds code or classes by hand", OWN)
        }
        ("types", "DynamicClassAttribute") | ("enum", "property") | ("functools", "cached_property") => Policy::MethodDecorator,
        ("dataclasses", "dataclass") => Policy::ClassDecorator,
        ("dataclasses", "Field") => Policy::Annotation,
        ("enum", "global_enum" | "EnumDict" | "pickle_by_global_name" | "pickle_by_enum_name") => {
            Policy::Refused("writes into modules", OWN)
        }
        ("enum", "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag" | "ReprEnum") => Policy::EnumClass,
        ("enum", "EnumMeta" | "EnumType") | ("abc", "ABCMeta") => Policy::Metaclass,
        ("functools", "wraps" | "update_wrapper") => Policy::Called(Arguments::Wrapper),
        ("operator", "attrgetter" | "methodcaller") => Policy::Called(Arguments::AttributeNames),
        ("string", "Formatter") => Policy::Called(Arguments::Formatter),
        ("contextlib", "redirect_stdout" | "redirect_stderr") => Policy::Called(Arguments::Any),
        ("importlib", "import_module" | "__import__") => Policy::Called(Arguments::Module),
        ("inspect", "getattr_static") => Policy::Called(Arguments::AttributeName),
        ("timeit", "timeit" | "repeat" | "Timer") => Policy::Called(Arguments::Function),
        (
            "inspect",
            "getmembers" | "getmembers_static" | "getclosurevars" | "currentframe" | "stack" | "trace" | "getargvalues" | "getouterframes"
            | "getinnerframes",
        )
        | ("gc", "get_objects" | "get_referrers" | "get_referents")
        | ("sys", "modules" | "settrace" | "setprofile" | "meta_path" | "path_hooks" | "path_importer_cache") => {
            Policy::Refused("reaches into the interpreter", "pass the objects you need as arguments")
        }
        ("code" | "codeop" | "runpy" | "bdb" | "trace" | "doctest" | "logging.config", _)
        | ("pdb" | "profile" | "cProfile", "run" | "runctx" | "runcall" | "runeval" | "set_trace" | "Pdb" | "Profile")
        | ("pkgutil", "resolve_name")
        | ("unittest.mock", "patch")
        | ("pandas", "eval")
        | ("numpy", "ctypeslib" | "f2py" | "distutils") => Policy::Refused(TEXT, OWN),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_with_a_policy_is_listed() {
        for name in RESTRICTED_BUILTINS {
            assert!(builtin_policy(name).is_some(), "{name}");
        }
        let source = include_str!("policy.rs");
        let body = source.split_once("fn builtin_policy").unwrap().1.split_once("fn export_policy").unwrap().0;
        let arms: Vec<&str> = body
            .lines()
            .filter_map(|line| line.split_once("=>"))
            .flat_map(|(arm, _)| arm.split('|'))
            .map(|name| name.trim().trim_matches('"'))
            .collect();
        assert!(arms.iter().filter(|name| **name != "_").all(|name| RESTRICTED_BUILTINS.contains(name)), "{arms:?}");
    }
}
