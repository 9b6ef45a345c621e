//! Keys that name themselves: a fixed beginning, an alphabet, a shortest length. Data. There is no longest length: issuers make their keys
//! longer without notice, and what is too long to be a key is no reason to show it.
//!
//! # Source
//! The issuers' own documentation of their formats, and what their tools print.

/// What the rest of a key is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Alphabet {
    /// Letters and digits.
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`.
    Url,
    /// Letters, digits, `_`, `-`, `.`, `=`.
    Dotted,
    /// `0`–`9`, `a`–`f`.
    Hex,
    /// Capitals and digits.
    Upper,
    /// Letters, digits, `/`, `_`, `-`: the rest of a URL's path.
    Path,
    /// The same and `@`.
    Hook,
    /// Base64 of either alphabet, with commas between several.
    Macaroon,
    /// Letters, digits, `_`, `-`, `.`: what a signed token is made of.
    Signed,
}

impl Alphabet {
    /// How many there are.
    pub(super) const COUNT: usize = Self::Signed as usize + 1;

    pub(super) const fn holds(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'='),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
            Self::Hook => Self::Path.holds(byte) || byte == b'@',
            Self::Macaroon => Self::Path.holds(byte) || matches!(byte, b'+' | b'=' | b','),
            Self::Signed => Self::Url.holds(byte) || byte == b'.',
        }
    }
}

/// One kind of key.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) name: &'static str,
    pub(super) start: &'static str,
    pub(super) alphabet: Alphabet,
    /// Shortest rest, in bytes.
    pub(super) least: usize,
    pub(super) left: Left,
}

/// What may stand before a key besides the end of a word and a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing: its beginning is that of other values, or the end of names.
    Word,
    /// `-` or `_`: words end like its beginning, but no name goes on with it and a value drawn at random.
    Name,
    /// Any letter as well: nothing else holds its beginning.
    Free,
}

const fn token(name: &'static str, start: &'static str, alphabet: Alphabet, least: usize) -> Token {
    Token { name, start, alphabet, least, left: Left::Name }
}

const fn alone(name: &'static str, start: &'static str, alphabet: Alphabet, least: usize) -> Token {
    Token { name, start, alphabet, least, left: Left::Word }
}

const fn free(name: &'static str, start: &'static str, alphabet: Alphabet, least: usize) -> Token {
    Token { name, start, alphabet, least, left: Left::Free }
}

use Alphabet::{Alnum, Dotted, Hex, Hook, Macaroon, Path, Upper, Url, Word};

/// The keys; where beginnings overlap, the longer stands first.
pub(super) const TOKENS: &[Token] = &[
    token("aws-access-key", "AKIA", Upper, 16),
    token("aws-access-key", "ASIA", Upper, 16),
    token("aws-access-key", "ABIA", Upper, 16),
    token("aws-access-key", "ACCA", Upper, 16),
    token("aws-bedrock", "ABSKQmVkcm9ja0FQSUtleS", Dotted, 40),
    free("github-fine", "github_pat_", Word, 50),
    free("github-pat", "ghp_", Alnum, 36),
    free("github-oauth", "gho_", Alnum, 36),
    free("github-user", "ghu_", Alnum, 36),
    free("github-server", "ghs_", Alnum, 36),
    free("github-refresh", "ghr_", Alnum, 36),
    free("gitlab-pat", "glpat-", Dotted, 20),
    free("gitlab-deploy", "gldt-", Url, 20),
    free("gitlab-runner", "glrt-", Dotted, 20),
    free("gitlab-trigger", "glptt-", Alnum, 40),
    token("gitlab-feed", "glft-", Url, 20),
    free("gitlab-oauth", "gloas-", Alnum, 64),
    free("gitlab-build", "glcbt-", Url, 20),
    free("gitlab-agent", "glagent-", Url, 50),
    token("anthropic", "sk-ant-", Url, 32),
    token("openai", "sk-proj-", Url, 32),
    token("openai", "sk-svcacct-", Url, 32),
    token("openai", "sk-admin-", Url, 32),
    token("openrouter", "sk-or-v1-", Hex, 64),
    token("openai-old", "sk-", Alnum, 32),
    token("groq", "gsk_", Alnum, 40),
    token("xai", "xai-", Alnum, 60),
    token("perplexity", "pplx-", Alnum, 40),
    token("replicate", "r8_", Alnum, 36),
    token("hf", "hf_", Alnum, 30),
    token("hf", "api_org_", Alnum, 30),
    alone("fireworks", "fw_", Alnum, 22),
    token("tavily", "tvly-", Url, 28),
    token("langsmith", "lsv2_pt_", Word, 40),
    token("langsmith", "lsv2_sk_", Word, 40),
    token("google", "AIza", Url, 35),
    free("google-oauth", "GOCSPX-", Url, 24),
    token("google-access", "ya29.", Url, 30),
    free("slack-bot", "xoxb-", Url, 20),
    free("slack-user", "xoxp-", Url, 20),
    token("slack-app", "xapp-", Url, 20),
    free("slack-legacy", "xoxa-", Url, 20),
    free("slack-legacy", "xoxr-", Url, 20),
    free("slack-legacy", "xoxs-", Url, 20),
    free("slack-config", "xoxe.", Dotted, 20),
    free("slack-config", "xoxe-", Url, 20),
    token("slack-webhook", "hooks.slack.com/services/", Path, 30),
    token("slack-webhook", "hooks.slack.com/workflows/", Path, 30),
    token("teams-webhook", "webhook.office.com/webhookb2/", Hook, 60),
    token("teams-webhook", "outlook.office.com/webhook/", Hook, 60),
    token("teams-webhook", "outlook.office365.com/webhook/", Hook, 60),
    token("discord-webhook", "discord.com/api/webhooks/", Path, 60),
    token("discord-webhook", "discordapp.com/api/webhooks/", Path, 60),
    token("discord-webhook", "discord.com/api/v", Path, 66),
    token("discord-webhook", "discordapp.com/api/v", Path, 66),
    token("stripe", "sk_live_", Alnum, 16),
    token("stripe", "sk_test_", Alnum, 16),
    token("stripe", "rk_live_", Alnum, 16),
    token("stripe", "rk_test_", Alnum, 16),
    free("stripe-webhook", "whsec_", Alnum, 24),
    free("square", "sq0atp-", Url, 22),
    free("square", "sq0csp-", Url, 43),
    alone("square", "EAAA", Url, 56),
    token("razorpay", "rzp_live_", Alnum, 14),
    free("flutterwave", "FLWSECK-", Url, 32),
    token("npm", "npm_", Alnum, 36),
    free("pypi", "pypi-AgE", Url, 40),
    token("rubygems", "rubygems_", Hex, 48),
    alone("crates-io", "cio", Alnum, 32),
    alone("nuget", "oy2", Alnum, 43),
    free("docker", "dckr_pat_", Url, 24),
    free("docker", "dckr_oat_", Url, 24),
    alone("jfrog", "AKCp", Alnum, 64),
    token("sendgrid", "SG.", Dotted, 50),
    alone("mailgun", "key-", Hex, 32),
    free("sendinblue", "xkeysib-", Url, 64),
    alone("twilio", "SK", Hex, 32),
    free("shopify", "shpat_", Hex, 32),
    free("shopify", "shpca_", Hex, 32),
    free("shopify", "shppa_", Hex, 32),
    free("shopify", "shpss_", Hex, 32),
    alone("databricks", "dapi", Hex, 32),
    free("digitalocean", "dop_v1_", Hex, 64),
    free("digitalocean", "doo_v1_", Hex, 64),
    free("digitalocean", "dor_v1_", Hex, 64),
    free("heroku", "HRKU-", Url, 36),
    token("fly", "fm2_", Macaroon, 60),
    token("fly", "fm1r_", Macaroon, 60),
    token("fly", "fm1a_", Macaroon, 60),
    token("fly", "fo1_", Url, 43),
    token("netlify", "nfp_", Alnum, 36),
    token("vercel", "vcp_", Alnum, 24),
    token("supabase", "sbp_", Hex, 40),
    token("supabase", "sb_secret_", Url, 20),
    free("planetscale", "pscale_tkn_", Dotted, 32),
    free("planetscale", "pscale_pw_", Dotted, 32),
    free("planetscale", "pscale_oauth_", Dotted, 32),
    token("neon", "napi_", Alnum, 40),
    token("vault", "hvs.", Url, 24),
    token("vault", "hvb.", Url, 24),
    token("vault", "hvr.", Url, 24),
    token("terraform", "atlasv1.", Url, 40),
    alone("pulumi", "pul-", Hex, 40),
    token("doppler", "dp.pt.", Alnum, 40),
    token("doppler", "dp.st.", Dotted, 40),
    alone("infisical", "st.", Dotted, 60),
    token("1password", "ops_eyJ", Dotted, 60),
    free("age", "AGE-SECRET-KEY-1", Upper, 58),
    free("tailscale", "tskey-", Url, 20),
    free("grafana", "glsa_", Word, 40),
    token("grafana", "glc_", Dotted, 40),
    free("sentry", "sntrys_", Dotted, 60),
    free("sentry", "sntryu_", Hex, 64),
    free("newrelic", "NRAK-", Alnum, 27),
    token("newrelic", "NRII-", Url, 32),
    free("dynatrace", "dt0c01.", Dotted, 80),
    free("postman", "PMAK-", Url, 59),
    free("linear", "lin_api_", Alnum, 32),
    token("notion", "ntn_", Alnum, 40),
    token("notion", "secret_", Alnum, 43),
    free("figma", "figd_", Url, 36),
    alone("airtable", "pat", Dotted, 79),
    token("atlassian", "ATATT3", Dotted, 60),
    alone("bitbucket", "ATBB", Alnum, 28),
    alone("dropbox", "sl.", Url, 100),
    token("typeform", "tfp_", Dotted, 40),
    free("contentful", "CFPAT-", Url, 40),
    alone("launchdarkly", "api-", Hex, 40),
    token("buildkite", "bkua_", Hex, 40),
    free("circleci", "CCIPAT_", Word, 40),
    token("adafruit", "aio_", Alnum, 28),
    token("easypost", "EZAK", Alnum, 54),
    token("easypost", "EZTK", Alnum, 54),
    free("duffel", "duffel_live_", Url, 43),
    token("frameio", "fio-u-", Url, 64),
    token("readme", "rdme_", Alnum, 70),
    token("prefect", "pnu_", Alnum, 36),
    token("clojars", "CLOJARS_", Alnum, 60),
    token("openshift", "sha256~", Url, 43),
    token("snyk", "snyk_", Dotted, 36),
    token("telegram-webhook", "api.telegram.org/bot", Dotted, 40),
    token("plaid", "access-production-", Url, 36),
    alone("alibaba", "LTAI", Alnum, 16),
    alone("tencent", "AKID", Alnum, 32),
    token("yandex", "AQVN", Url, 35),
    alone("yandex", "t1.", Dotted, 80),
    token("mapbox", "sk.eyJ", Dotted, 30),
    alone("facebook", "EAACEdEose0cBA", Alnum, 20),
    alone("facebook", "EAAG", Alnum, 100),
    alone("discord-bot", "MT", Dotted, 56),
    alone("discord-bot", "Mj", Dotted, 56),
    alone("discord-bot", "Mz", Dotted, 56),
    alone("discord-bot", "ND", Dotted, 56),
    alone("discord-bot", "NT", Dotted, 56),
    alone("discord-bot", "Nj", Dotted, 56),
    alone("discord-bot", "Nz", Dotted, 56),
    alone("discord-bot", "OD", Dotted, 56),
    alone("discord-bot", "OT", Dotted, 56),
    alone("google-refresh", "1//0", Url, 40),
    token("hubspot", "pat-na1-", Hex, 32),
    token("aws-session", "FwoGZXIvYXdz", Path, 80),
    token("jira-scoped", "ATCTT3", Dotted, 60),
    free("shippo", "shippo_live_", Hex, 40),
    free("apify", "apify_api_", Alnum, 30),
    free("brevo", "xsmtpsib-", Url, 64),
    token("posthog", "phx_", Alnum, 40),
    alone("firecrawl", "fc-", Hex, 32),
    token("cloudinary", "cloudinary://", Dotted, 40),
    free("nvidia", "nvapi-", Url, 40),
    token("pinecone", "pcsk_", Word, 40),
    token("jina", "jina_", Alnum, 40),
    alone("cerebras", "csk-", Alnum, 40),
    token("together", "tgp_v1_", Url, 40),
    alone("render", "rnd_", Alnum, 28),
    token("sonar", "sqp_", Hex, 40),
    token("sonar", "squ_", Hex, 40),
    token("sonar", "sqa_", Hex, 40),
    token("1password", "ops_", Dotted, 150),
    token("gitlab-runner", "GR1348941", Url, 20),
];
