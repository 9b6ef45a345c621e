//! Keys that name themselves: a fixed beginning, an alphabet, a length. Data.
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
}

impl Alphabet {
    pub(super) const fn holds(self, byte: u8) -> bool {
        match self {
            Self::Alnum => byte.is_ascii_alphanumeric(),
            Self::Word => byte.is_ascii_alphanumeric() || byte == b'_',
            Self::Url => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'),
            Self::Dotted => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'='),
            Self::Hex => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
            Self::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Self::Path => byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'/'),
        }
    }
}

/// One kind of key.
#[derive(Debug)]
pub(super) struct Token {
    pub(super) name: &'static str,
    pub(super) start: &'static str,
    pub(super) alphabet: Alphabet,
    /// Shortest and longest rest, in bytes.
    pub(super) rest: (usize, usize),
}

const fn token(name: &'static str, start: &'static str, alphabet: Alphabet, least: usize, most: usize) -> Token {
    Token { name, start, alphabet, rest: (least, most) }
}

use Alphabet::{Alnum, Dotted, Hex, Path, Upper, Url, Word};

/// The keys; where beginnings overlap, the longer stands first.
pub(super) const TOKENS: &[Token] = &[
    token("aws-access-key", "AKIA", Upper, 16, 16),
    token("aws-access-key", "ASIA", Upper, 16, 16),
    token("aws-access-key", "ABIA", Upper, 16, 16),
    token("aws-access-key", "ACCA", Upper, 16, 16),
    token("aws-bedrock", "ABSKQmVkcm9ja0FQSUtleS", Dotted, 40, 260),
    token("github-fine", "github_pat_", Word, 50, 255),
    token("github-pat", "ghp_", Alnum, 36, 255),
    token("github-oauth", "gho_", Alnum, 36, 255),
    token("github-user", "ghu_", Alnum, 36, 255),
    token("github-server", "ghs_", Alnum, 36, 255),
    token("github-refresh", "ghr_", Alnum, 36, 255),
    token("gitlab-pat", "glpat-", Dotted, 20, 300),
    token("gitlab-deploy", "gldt-", Url, 20, 64),
    token("gitlab-runner", "glrt-", Dotted, 20, 64),
    token("gitlab-trigger", "glptt-", Alnum, 40, 64),
    token("gitlab-feed", "glft-", Url, 20, 64),
    token("gitlab-oauth", "gloas-", Alnum, 64, 64),
    token("gitlab-build", "glcbt-", Url, 20, 80),
    token("gitlab-agent", "glagent-", Url, 50, 60),
    token("anthropic", "sk-ant-", Url, 32, 255),
    token("openai", "sk-proj-", Url, 32, 255),
    token("openai", "sk-svcacct-", Url, 32, 255),
    token("openai", "sk-admin-", Url, 32, 255),
    token("openrouter", "sk-or-v1-", Hex, 64, 64),
    token("openai-old", "sk-", Alnum, 32, 64),
    token("groq", "gsk_", Alnum, 40, 64),
    token("xai", "xai-", Alnum, 60, 100),
    token("perplexity", "pplx-", Alnum, 40, 64),
    token("replicate", "r8_", Alnum, 36, 40),
    token("hf", "hf_", Alnum, 30, 48),
    token("hf", "api_org_", Alnum, 30, 48),
    token("fireworks", "fw_", Alnum, 22, 40),
    token("tavily", "tvly-", Url, 28, 64),
    token("langsmith", "lsv2_pt_", Word, 40, 64),
    token("langsmith", "lsv2_sk_", Word, 40, 64),
    token("google", "AIza", Url, 35, 35),
    token("google-oauth", "GOCSPX-", Url, 24, 40),
    token("google-access", "ya29.", Url, 30, 2048),
    token("slack-bot", "xoxb-", Url, 20, 255),
    token("slack-user", "xoxp-", Url, 20, 255),
    token("slack-app", "xapp-", Url, 20, 255),
    token("slack-legacy", "xoxa-", Url, 20, 255),
    token("slack-legacy", "xoxr-", Url, 20, 255),
    token("slack-legacy", "xoxs-", Url, 20, 255),
    token("slack-config", "xoxe.", Dotted, 20, 255),
    token("slack-config", "xoxe-", Url, 20, 255),
    token("slack-webhook", "hooks.slack.com/services/", Path, 30, 100),
    token("slack-webhook", "hooks.slack.com/workflows/", Path, 30, 120),
    token("discord-webhook", "discord.com/api/webhooks/", Path, 60, 120),
    token("discord-webhook", "discordapp.com/api/webhooks/", Path, 60, 120),
    token("stripe", "sk_live_", Alnum, 16, 128),
    token("stripe", "sk_test_", Alnum, 16, 128),
    token("stripe", "rk_live_", Alnum, 16, 128),
    token("stripe", "rk_test_", Alnum, 16, 128),
    token("stripe-webhook", "whsec_", Alnum, 24, 80),
    token("square", "sq0atp-", Url, 22, 22),
    token("square", "sq0csp-", Url, 43, 43),
    token("square", "EAAAE", Url, 55, 64),
    token("razorpay", "rzp_live_", Alnum, 14, 24),
    token("flutterwave", "FLWSECK-", Url, 32, 48),
    token("npm", "npm_", Alnum, 36, 36),
    token("pypi", "pypi-AgE", Url, 40, 400),
    token("rubygems", "rubygems_", Hex, 48, 48),
    token("crates-io", "cio", Alnum, 32, 32),
    token("nuget", "oy2", Alnum, 43, 43),
    token("docker", "dckr_pat_", Url, 24, 40),
    token("docker", "dckr_oat_", Url, 24, 48),
    token("jfrog", "AKCp", Alnum, 64, 80),
    token("sendgrid", "SG.", Dotted, 50, 80),
    token("mailgun", "key-", Hex, 32, 32),
    token("sendinblue", "xkeysib-", Url, 64, 100),
    token("twilio", "SK", Hex, 32, 32),
    token("shopify", "shpat_", Hex, 32, 40),
    token("shopify", "shpca_", Hex, 32, 40),
    token("shopify", "shppa_", Hex, 32, 40),
    token("shopify", "shpss_", Hex, 32, 40),
    token("databricks", "dapi", Hex, 32, 32),
    token("digitalocean", "dop_v1_", Hex, 64, 64),
    token("digitalocean", "doo_v1_", Hex, 64, 64),
    token("digitalocean", "dor_v1_", Hex, 64, 64),
    token("heroku", "HRKU-", Url, 36, 70),
    token("fly", "fm2_", Dotted, 60, 1024),
    token("netlify", "nfp_", Alnum, 36, 48),
    token("vercel", "vcp_", Alnum, 24, 64),
    token("supabase", "sbp_", Hex, 40, 40),
    token("supabase", "sb_secret_", Url, 20, 64),
    token("planetscale", "pscale_tkn_", Dotted, 32, 64),
    token("planetscale", "pscale_pw_", Dotted, 32, 64),
    token("planetscale", "pscale_oauth_", Dotted, 32, 64),
    token("neon", "napi_", Alnum, 40, 80),
    token("vault", "hvs.", Url, 24, 200),
    token("vault", "hvb.", Url, 24, 400),
    token("vault", "hvr.", Url, 24, 400),
    token("terraform", "atlasv1.", Url, 40, 80),
    token("pulumi", "pul-", Hex, 40, 40),
    token("doppler", "dp.pt.", Alnum, 40, 48),
    token("doppler", "dp.st.", Dotted, 40, 64),
    token("infisical", "st.", Dotted, 60, 120),
    token("1password", "ops_eyJ", Dotted, 60, 2048),
    token("age", "AGE-SECRET-KEY-1", Upper, 58, 58),
    token("tailscale", "tskey-", Url, 20, 80),
    token("grafana", "glsa_", Word, 40, 48),
    token("grafana", "glc_", Dotted, 40, 400),
    token("sentry", "sntrys_", Dotted, 60, 400),
    token("sentry", "sntryu_", Hex, 64, 64),
    token("newrelic", "NRAK-", Alnum, 27, 32),
    token("newrelic", "NRII-", Url, 32, 36),
    token("dynatrace", "dt0c01.", Dotted, 80, 100),
    token("postman", "PMAK-", Url, 59, 59),
    token("linear", "lin_api_", Alnum, 32, 48),
    token("notion", "ntn_", Alnum, 40, 56),
    token("notion", "secret_", Alnum, 43, 43),
    token("figma", "figd_", Url, 36, 64),
    token("airtable", "pat", Dotted, 79, 79),
    token("atlassian", "ATATT3", Dotted, 60, 300),
    token("bitbucket", "ATBB", Alnum, 28, 36),
    token("dropbox", "sl.", Url, 100, 1500),
    token("typeform", "tfp_", Dotted, 40, 64),
    token("contentful", "CFPAT-", Url, 40, 48),
    token("launchdarkly", "api-", Hex, 40, 40),
    token("buildkite", "bkua_", Hex, 40, 40),
    token("circleci", "CCIPAT_", Word, 40, 80),
    token("adafruit", "aio_", Alnum, 28, 28),
    token("easypost", "EZAK", Alnum, 54, 54),
    token("easypost", "EZTK", Alnum, 54, 54),
    token("duffel", "duffel_live_", Url, 43, 43),
    token("frameio", "fio-u-", Url, 64, 64),
    token("readme", "rdme_", Alnum, 70, 70),
    token("prefect", "pnu_", Alnum, 36, 36),
    token("clojars", "CLOJARS_", Alnum, 60, 60),
    token("openshift", "sha256~", Url, 43, 43),
    token("snyk", "snyk_", Dotted, 36, 80),
    token("telegram-webhook", "api.telegram.org/bot", Dotted, 40, 60),
    token("plaid", "access-production-", Url, 36, 36),
    token("alibaba", "LTAI", Alnum, 16, 20),
    token("tencent", "AKID", Alnum, 32, 32),
    token("yandex", "AQVN", Url, 35, 38),
    token("yandex", "t1.", Dotted, 80, 300),
    token("mapbox", "sk.eyJ", Dotted, 60, 200),
    token("facebook", "EAACEdEose0cBA", Alnum, 20, 255),
    token("facebook", "EAAG", Alnum, 100, 300),
    token("cloudinary", "cloudinary://", Dotted, 40, 80),
];
