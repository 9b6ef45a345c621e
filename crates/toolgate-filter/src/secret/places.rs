//! Where the value of a name stands: `data/secrets/places.toml`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::RegexSet;
use serde::Deserialize;

use super::strength::classes;
use crate::finding::floor;
use crate::rule::Form;

/// The places, as their file has them.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct File {
    places: Vec<Source>,
    parts: BTreeMap<String, String>,
}

#[derive(Debug, Deserialize)]
#[cfg_attr(test, serde(deny_unknown_fields))]
struct Source {
    before: Option<String>,
    form: String,
    #[serde(default)]
    classes: usize,
    #[serde(default)]
    deeper: bool,
}

/// One place with its forms.
#[derive(Debug)]
struct Place {
    before: Option<Form>,
    form: Form,
    classes: usize,
    deeper: bool,
}

/// Every place, and all of their forms as one; a test reads the file.
static PLACES: LazyLock<(Vec<Place>, Option<RegexSet>)> = LazyLock::new(|| {
    let file: File = toml::from_str(include_str!("../../data/secrets/places.toml")).unwrap_or_default();
    let place = |source: Source| Place {
        before: source.before.map(|before| Form::new(&format!("(?:{before})$"), &file.parts)),
        form: Form::new(&format!("^(?:{})", source.form), &file.parts),
        classes: source.classes,
        deeper: source.deeper,
    };
    let places: Vec<Place> = file.places.into_iter().map(place).collect();
    let forms = RegexSet::new(places.iter().map(|place| place.form.source())).ok();
    (places, forms)
});

/// Bytes before and after a name that are looked at.
const NEAR: usize = 160;

/// Where values may begin of the name whose keyword stands at `start..end`, in the order in which they are to be judged.
pub(super) fn values(text: &str, start: usize, end: usize) -> impl Iterator<Item = usize> {
    let rest = text.get(end..floor(text, end + NEAR)).unwrap_or_default();
    let before = text.get(floor(text, start.saturating_sub(NEAR))..start).unwrap_or_default();
    let goes_on = rest.as_bytes().first().is_none_or(u8::is_ascii_alphanumeric);
    let (places, forms) = &*PLACES;
    let matched = forms.as_ref().filter(|_| !goes_on).map(|forms| {
        crate::work::read(before.len() + rest.len());
        forms.matches(rest)
    });
    matched.into_iter().flatten().filter_map(move |number| Some(end + places.get(number)?.value(before, rest)?))
}

impl Place {
    /// How far behind a name its value begins.
    fn value(&self, before: &str, rest: &str) -> Option<usize> {
        if let Some(form) = &self.before {
            form.regex()?.find(before)?;
        }
        let groups = self.form.regex()?.captures(rest)?;
        let form = groups.get(0)?;
        let value = groups.get(1).map_or(form.end()..form.end(), |group| group.range());
        let indent = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
        let is_deeper = || rest.get(..value.start).and_then(|gap| gap.rsplit('\n').next()).zip(before.rsplit('\n').next());
        let fits = classes(rest.get(value.clone())?) >= self.classes
            && (!self.deeper || is_deeper().is_some_and(|(own, name)| indent(own) > indent(name)));
        fits.then_some(value.start)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::found_in;
    use super::*;

    #[test]
    fn the_file_is_read_and_every_form_compiles() {
        let read = toml::from_str::<File>(include_str!("../../data/secrets/places.toml"));
        assert!(read.is_ok(), "{:?}", read.err());
        let (places, forms) = &*PLACES;
        assert!(forms.is_some());
        for place in places {
            assert!([Some(&place.form), place.before.as_ref()].into_iter().flatten().all(|form| form.regex().is_some()), "{place:?}");
        }
    }

    #[test]
    fn values_are_found_behind_a_type() {
        let value = "q7WxTnc2V8bRy4HsJ5mm";
        for before in [
            "export const vendorKey: string = \"",
            "const VENDOR_KEY: &str = \"",
            "pub static VENDOR_KEY: &'static str = \"",
            "const vendorKey string = \"",
            "var vendorKey string = `",
            "val vendorKey: String = \"",
            "vendor_key: str = \"",
            "vendor_key: Optional[str] = '",
            "private vendorKey?: string = '",
            "let password: String = String::from(\"",
            "token: str | None = \"",
            "api_key: SecretStr = SecretStr(\"",
            "#define VENDOR_KEY \"",
            "#define API_TOKEN    \"",
            "char password[] = \"",
            "static char api_key[64] = \"",
            "val token: String? = \"",
        ] {
            let quote = before.chars().next_back().unwrap();
            assert_eq!(found_in(&format!("{before}{value}{quote}\n")), [("credential", value)], "{before}");
        }
    }

    #[test]
    fn a_value_before_another_field_is_no_type() {
        for (before, after) in [
            ("password: ", ", user=\"bob\""),
            ("password: ", " host=\"db\""),
            ("token: ", ", user=\"bob\""),
            ("api_key: ", " level=\"info\""),
            ("token: ", " | user=\"bob\""),
        ] {
            let value = "q7WxTnc2V8bRy4HsJ5mm";
            assert_eq!(found_in(&format!("{before}{value}{after}\n")), [("credential", value)], "{before}{after}");
        }
        assert_eq!(found_in("password: tG4xw8KdZq1nPy, user=\"bob\""), [("credential", "tG4xw8KdZq1nPy")]);
    }

    #[test]
    fn values_are_found_beside_below_and_in_the_next_column() {
        let value = "q7WxTnc2V8bRy4HsJ5mm";
        for (before, after) in [
            ("env:\n  - name: DB_PASSWORD\n    value: ", "\n"),
            ("  - name: API_TOKEN\n    value: \"", "\"\n"),
            ("{\"name\":\"DB_PASSWORD\",\"value\":\"", "\"}"),
            ("{\"name\": \"DB_PASSWORD\", \"value\": \"", "\"}"),
            ("{\"Key\": \"DB_PASSWORD\",\n \"Value\": \"", "\"}"),
            ("<add key=\"Password\" value=\"", "\"/>"),
            ("<property name=\"password\" value=\"", "\"/>"),
            ("<property name=\"hibernate.connection.password\">", "</property>"),
            ("<name>db.password</name>\n  <value>", "</value>"),
            ("password:\n  ", "\n"),
            ("a:\n  secret: |\n    ", "\n  b: 1\n"),
            ("db_password: >-\n  ", "\n"),
            ("\"password\":\n    \"", "\",\n"),
            ("| password | ", " |\n"),
            ("| **Password** | `", "` |\n"),
        ] {
            assert_eq!(found_in(&format!("{before}{value}{after}")), [("credential", value)], "{before}");
        }
    }

    #[test]
    fn types_defaults_look_ups_and_tables_without_secrets_are_left_alone() {
        for text in [
            "input Login { password: String! }",
            "api_key: str = None",
            "token: Optional[str] = None",
            "password: str = \"\"",
            "password: string = process.env.DB_PASSWORD_2024_PRODUCTION",
            "password: String = get_password(\"service2_production4\")",
            "password: String = env::var(\"DB_PASSWORD2_X9\")",
            "const tokenType: string = \"Bearer\"",
            "const primaryKey: string = \"q7WxTnc2V8bRy4HsJ5mm\"",
            "let token: Token = tokens[index2];",
            "token: string === 'abc12345defGH67890'",
            "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db2\n",
            "- name: DB_PASSWORD\n  value: $(SECRET_NUMBER_2)\n",
            "- name: password\n  type: string2\n",
            "{\"name\": \"password\", \"type\": \"varchar2\"}",
            "<input name=\"password\" value=\"\"/>",
            "<property name=\"password\" value=\"${db.password1}\"/>",
            "password:\n  min_length: 12\n",
            "password:\n  type: string\n",
            "secret:\n  - a1b2c3d4\n",
            "    if not password:\n        raise Error1(2)\n",
            "case token:\n    return x1;\n",
            "secret:\n  secretName: tls-2024\n",
            "| password | string | yes |\n| token | text2 | no |\n",
            "(r\"system|base64|password|api.?key|the data|\")",
            "Key = Ed25519PrivateKey | Ed448PrivateKey | X25519PrivateKey | X448PrivateKey",
            "#define PASSWORD_MAX \"64\"",
            "#define TOKEN TOKEN_IDENTIFIER1",
            "The name is a token, value: 12 of them",
            "token: Foo = bar2(\"q7WxTnc2V8bRy4HsJ5mm\")",
            "token: Dict[str, Ed25519PrivateKey] = \"\"",
            "password: *const c_char2 = \"none\"",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }

    #[test]
    fn literals_of_every_language_are_the_values_of_their_names() {
        for (before, after) in [
            ("app.secret_key = b\"", "\"\n"),
            ("PASSWORD = r'", "'\n"),
            ("password=f\"", "\")"),
            ("password = \"\"\"", "\"\"\"\n"),
            ("password = \"\"\"\n", "\"\"\"\n"),
            ("PASSWORD = (\n    \"", "\"\n)\n"),
            ("password = (\"", "\")"),
            ("local password = [[", "]]\n"),
            ("  :password => '", "',\n"),
            ("const key = process.env.API_KEY || '", "';"),
            ("const key = process.env.API_KEY ?? \"", "\";"),
            ("pw = os.getenv('DB_PASSWORD') or '", "'\n"),
            ("pw = ENV['DB_PASSWORD'] || '", "'\n"),
            ("define( 'DB_PASSWORD', '", "' );"),
            ("define( \"DB_PASSWORD\" , \"", "\" );"),
            ("command: [\"redis-server\", \"--requirepass\", \"", "\"]"),
            ("[\"--password\", \"", "\"]"),
            ("<key>apiToken</key>\n\t<string>", "</string>\n"),
            ("{:password \"", "\" :user \"bob\"}"),
            ("{:host \"db\" :api-key \"", "\"}"),
            ("{\"db_password\": {\"value\": \"", "\", \"type\": \"string\"}}"),
            ("\"db_password\": {\n  \"value\": \"", "\",\n"),
            ("set -gx GITHUB_TOKEN ", "\n"),
            ("setenv API_TOKEN ", "\n"),
            ("SetEnv DB_PASSWORD ", "\n"),
            ("set(API_TOKEN \"", "\")\n"),
            ("export GITHUB_PAT=", "\n"),
            ("export AZURE_DEVOPS_EXT_PAT=", "\n"),
            ("NEXTAUTH_SECRET=", "\n"),
            ("NEXT_AUTH_SECRET=", "\n"),
            ("fernet_key = ", "\n"),
            ("**Password:** ", "\n"),
            ("- **Password**: `", "`\n"),
            ("Password\n: ", "\n"),
            ("- Admin password `", "`\n"),
        ] {
            assert_eq!(found_in(&format!("{before}q7WxTnc2V8bRy4HsJ5mm{after}")), [("credential", "q7WxTnc2V8bRy4HsJ5mm")], "{before}");
        }
    }

    #[test]
    fn what_only_stands_beside_a_name_is_no_value_of_it() {
        for text in [
            "password = (\n    \"Enter your password1\"\n)",
            "password = b\"\"",
            "password = f\"{user}{number1}\"",
            "token = f\"{prefix1}-{number2}\"",
            "assert token or \"none\"",
            "const key = process.env.API_KEY || ''",
            "const key = process.env.API_KEY || 'development'",
            "pw = os.getenv('DB_PASSWORD') or 'your_password1'",
            "if password or 'x1' in names:",
            "define( 'DB_PASSWORD', '' );",
            "define( 'DB_PASSWORD', 'password_here' );",
            "f(\"password\", \"user1name\")",
            "[\"--password\", \"$PASSWORD1\"]",
            "<key>token</key>\n<string>com.example.app1</string>",
            "<key>password</key>\n<string></string>",
            "{:password \"\"}",
            "{\"password\": {\"type\": \"string\", \"value\": \"a1b2c3d4e5\"}}",
            "{\"token\": {\"value\": \"\"}}",
            "set(API_TOKEN_FILE \"a1b2c3d4\")",
            "set(TOKEN ${API_TOKEN_2})",
            "SetEnv TOKEN ${HTTP_TOKEN1}",
            "const NEXT_TOKEN = \"q7WxTnc2V8bRy4HsJ5mm\"",
            "NEXT_PUBLIC_TOKEN=q7WxTnc2V8bRy4HsJ5mm",
            "nextPageToken: \"q7WxTnc2V8bRy4HsJ5mm\"",
            "the_path=q7WxTnc2V8bRy4HsJ5mm",
            "a_pattern = \"q7WxTnc2V8bRy4HsJ5mm\"",
            "local tokens = [[index1]]",
            "**Token:** a word such as `and2`",
            "The argument `a1` and the password `b2c3d4e5` of the parser are names",
            "**password** string2 required",
            "token\n: the next lexeme1",
            "tokens = ((\"a1b2c3d4e5f6g7h8\"))",
        ] {
            assert_eq!(found_in(text), [], "{text}");
        }
    }
}
