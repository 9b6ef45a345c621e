//! More rules for English: what is wanted out of the reader, what it should do, and who should not hear of it. Data, as in `english.rs`.

use super::english::{Rule, asked, rule};

/// The rules.
pub(super) const RULES: &[Rule] = &[
    // What the reader was told.
    rule(
        "prompt_extraction",
        0.4,
        "which rules;which instructions;which guidelines;which orders;what rules;what instructions;what guidelines;what orders",
        r"\b(?:which|what) (?:rules|instructions|guidelines|orders)\s(?:did|have|were|are|has)\s(?:you\b|(?:the |your )?(?:developers?|creators?|makers?|openai|anthropic|company|operators?)\b[^.?\n]{0,16}\byou\b)",
    ),
    rule(
        "prompt_extraction",
        0.35,
        "not meant to;not supposed to;not allowed to",
        r"\byou(?:'re| are) not (?:meant|supposed|allowed|permitted) to (?:share|reveal|tell|disclose|show|say|mention)\b",
    ),
    rule(
        "prompt_extraction",
        0.55,
        "context window;hidden instruction;initial instruction;system message;system instruction;original prompt;initial prompt;secret instruction;hidden prompt;hidden rules",
        r"\b(?:need|want|require|send|give|show|dump|output|print|share|paste|see|hand over)\s{1,2}{5}your\s(?:full |entire |complete |current |whole |own ){0,2}(?:context window|(?:hidden|initial|secret|original|system|internal) (?:instructions?|prompt|message|rules))\b",
    ),
    rule(
        "prompt_extraction",
        0.55,
        "configured with;initialised with;initialized with;programmed with;set up with;primed with;started with;provided with;given before;been given;were given;were fed;loaded with",
        r"\b(?:instructions?|text|prompts?|rules|words|messages?|guidelines|directives?)\s(?:that |which )?you (?:have been|were|are|had been)\s(?:configured|initiali[sz]ed|programmed|set up|primed|started|provided|loaded|fed|given)\b\s?(?:with|before|at|initially|by (?:your|the))",
    ),
    rule(
        "prompt_extraction",
        0.5,
        "own system prompt;own prompt;own instructions;own initial",
        r"\bown (?:system |initial )?(?:prompt|instructions)\b[^.\n]{0,30}\b(?:verbatim|word for word|exactly|in full|your actual)",
    ),
    rule(
        "prompt_extraction",
        0.4,
        "my confidential;my secret;my hidden;my system;my initial",
        r"['\x22`][^'\x22`\n]{0,30}\bmy (?:confidential|secret|hidden|system|initial) (?:instructions?|prompt|rules) (?:are|is|says?|reads?)\b",
    ),
    rule(
        "secret_request",
        0.35,
        "passphrase;secret code;secret word;admin password;root password;master password;master key;the password;the secret",
        r"\b(?:give|tell|send|hand|reveal|disclose|what(?:'s| is)|share|prove it by telling)\s{1,2}(?:me |us |over |to me ){0,2}(?:what )?(?:the|your)\s(?:(?:admin|root|master|secret|database|system) )?(?:pass(?:word|phrase|code)|secret(?: (?:code|key|word|password))?|master key)\b",
    ),
    // Who should not hear of it.
    rule(
        "hidden_action",
        0.45,
        "from the user;from the developer;from the human;from the owner;from the operator;from the organi;from the accountant;from the reviewer;from the maintainer;from the manager;from the customer;from the person;from the client;from your user",
        r"\b(?:hide|keep|conceal|withhold)\s(?:this|it|that|any of this|all of this|the \w+)\s(?:secret |hidden )?from (?:the|your) (?:user|developer|human|owner|operator|organi[sz]er|accountant|reviewer|maintainer|manager|customer|person|client)\b",
    ),
    rule(
        "hidden_action",
        0.5,
        "user doesn;user does not;user must;user should;user may;user need;human must;human should;owner must;developer must;operator must;user is not to;user shall;user doesn't",
        r"\b(?:user|owner|human|developer|operator)s? (?:(?:must|should|shall|need|is|does)(?: not|n't| never)\s(?:to |ever )?(?:notice|need to know|know|learn|find out|be (?:told|informed|aware|made aware|alerted)|hear)|may (?:not|never)\s(?:ever )?(?:need to know|know|learn|find out|be (?:told|informed|aware|made aware|alerted)|hear))\b",
    ),
    rule(
        "hidden_action",
        0.55,
        "nothing to the;nothing to your;user nothing;nothing of this;nothing about this",
        r"\b(?:say|tell|mention|reveal|report) nothing (?:of (?:this|it) |about (?:this|it) )?to (?:the|your) (?:user|human|owner|operator|person|developer)\b|\btell the (?:user|human|owner|developer) nothing\b",
    ),
    rule(
        "hidden_action",
        0.5,
        "you're helping;you are helping;you're assisting;you are assisting;you're talking;you are talking;you're working for;you are working for;you serve",
        r"\b(?:without (?:telling|informing|notifying|asking|alerting)|do not (?:tell|inform|notify|alert)|don't (?:tell|inform|notify|alert)|never (?:tell|inform))\s(?:the )?(?:person|people|human|user|one|customer|client)s? (?:that |who(?:m)? )?you(?:'re| are)? (?:helping|assisting|talking|working|serve)",
    ),
    rule(
        "hidden_action",
        0.4,
        "flag this;flag it;report this;report it;disclose it;disclose this;reveal this;reveal that;mention it;mention this;mention that;say why;admit;quote this;tell anyone;tell anybody",
        r"\b(?:do not|don't|never|must not|and not|does not|doesn't)\s(?:ever )?(?:flag (?:this|it) to|report (?:this|it) to|disclose (?:this|it)|reveal (?:this|that) (?:note|message|instruction|line|comment|to)|mention (?:it|this|that) (?:in|to|when|anywhere)|say why|admit (?:this|it|to)|quote this|tell any(?:one|body) about this)\b",
    ),
    rule(
        "hidden_action",
        0.4,
        "silently;secretly;quietly;covertly;discreetly;stealthily",
        r"\b(?:silently|secretly|quietly|covertly|discreetly|stealthily)\s(?:subscribe|bcc|change|buy|order|mark|sign|set|share|switch|replace|redirect|collect|record|book|move|remove|add)\b[^.\n]{0,60}\b(?:user|each|every|all|account|address|recipient|you\b)",
    ),
    rule(
        "hidden_action",
        0.3,
        "requesting confirmation;seeking;waiting for;needing;no need to;further confirmation;prior approval;for approval;ask for confirmation;for confirmation",
        r"\bwithout (?:requesting|seeking|needing|waiting for|any|prior|asking (?:me |him |her |them |anyone )?for|asking (?:me|him|her|them) to)\s?(?:any |further |their |user )?(?:confirm(?:ation)?|approv(?:al|e)|permission|consent)\b|\bno need to (?:check|confirm|verify|ask) (?:with|the|for)\b",
    ),
    // What it should do.
    rule(
        "exfiltration",
        0.4,
        "use your",
        r"\buse your (?:browser|browsing|terminal|shell|mail|e-?mail|file|search|web|payment|fetch|http|network)\s?(?:tool|plugin|function|access|capabilit\w+)?\sto (?:visit|open|send|fetch|call|run|load|post|request|transfer|pay|read|navigate|delete)\b",
    ),
    rule(
        "exfiltration",
        0.5,
        "http",
        r"https?://[^\s<{\[]{1,160}[=/?][<{\[](?:[^>}\]\n]{0,40})\b(?:user|conversation|said|messages?|chat|history|secrets?|password|summary|context|everything)\b",
    ),
    rule(
        "exfiltration",
        0.45,
        "in place of;filled in;user's;conversation",
        r"\b(?:render|display|load|show|embed|include|fetch)\b[^.\n]{0,60}\b(?:image|picture|pixel|link)\b[^.\n]{0,60}\b(?:user's|user data|conversation|chat history|chat so far)\b|\b(?:submit|fill)\b[^.\n]{0,40}\bwith the user's\b|\buser's [a-z0-9 -]{1,30} (?:in place of|inserted)\b",
    ),
    rule(
        "exfiltration",
        0.45,
        "query parameter;url parameter;query string;chat so far;conversation so far",
        r"\b(?:summari[sz]e|encode|collect|take)\b[^.\n]{0,50}\b(?:chat|conversation|messages|history|session)\b[^.\n]{0,60}\b(?:append|attach|add|put|send|as a)\b",
    ),
    rule(
        "exfiltration",
        0.45,
        "exfiltrate;leak ;smuggle;harvest",
        r"\b(?:exfiltrate|leak|smuggle|harvest)\s(?:all |the |any |every |our |repository )?\s?{3}(?:process\.env|env\w*|secrets?|keys?|credentials?|tokens?|data|files?|passwords?)\b[^.\n]{0,20}\b(?:to|via|through|of)\b",
    ),
    rule(
        "exfiltration",
        0.5,
        "contents of;last five;last three;latest;messages from;e-mails from;emails from;mails from",
        r"\b(?:forward|send|send_message|mail|e-?mail|post|submit)\b[^.\n]{0,24}\b(?:the )?(?:contents of )?(?:the )?(?:last|latest|past|previous) (?:\w+ )?(?:messages|mails|e-?mails|prompts|turns|texts|files)\b[^.\n]{0,40}\bto\s(?:\S+@|\+\d|https?:|\d{5})",
    ),
    rule(
        "exfiltration",
        0.3,
        "replace ;substitute ;fill in ",
        r"\b(?:replace|substitute|fill in)\s(?:the )?\S+ (?:with|by) (?:the|your)\s(?:\S+ )?(?:values?|user|secrets?|tokens?|keys?|contents?|actual|conversation|password|e-?mail)\b",
    ),
    rule(
        "tool_poisoning",
        0.5,
        "any other tool;another tool;any tool;other tool;this tool",
        r"\b(?:before|prior to)\s(?:using|calling|invoking|running) (?:any(?: other)?|another|other) tools?,?\s(?:you must|you have to|always|first|call|read|send)\b|\bwhen(?:ever)? (?:any|another|the) (?:other )?tools? \w+\b[^.\n]{0,30},\s(?:also |always )?(?:change|send|add|copy|forward|replace|include|append|set)\b|\bwhen this tool is (?:available|loaded|present|installed)\b",
    ),
    rule(
        "tool_poisoning",
        0.35,
        "prefer this tool;use this tool;tool over;always use this;say otherwise;that contradict",
        r"\b(?:prefer|choose|pick|use) this tool (?:over|instead of|rather than|before) (?:all|any|every|the)\b|\b(?:instructions?|rules|anything|everything|messages) (?:that|which) (?:says?|tells? you|contradicts?|claims?)\s?(?:otherwise|this|it)?\b",
    ),
    rule(
        "tool_poisoning",
        0.35,
        "before presenting;before showing;before giving;before displaying;before returning;before committing;your next step;before you present;before you show;before your next",
        r"\b(?:before|prior to) (?:you )?(?:present|show|giv|display|return|committ?|your next)\w*\b[^.\n]{0,40},?\s(?:you must |always |first |please ){0,2}(?:read|call|send|copy|fetch|open|run|delete|upload|execute|use)\b",
    ),
    rule(
        "tool_poisoning",
        0.35,
        "contents of;content of;copy ~;copy /;.env;.ssh;credentials;id_ed25519;id_rsa;.kdbx",
        r"\b(?:contents? of|copy|attach|include|paste|insert)\s(?:the |file |your ){0,2}{q}\S{0,30}(?:\.env\b|\.ssh/|\.aws/|credentials|id_rsa|id_ed25519|\.kdbx|\.netrc|\.npmrc|wallet|/etc/(?:passwd|shadow))",
    ),
    rule(
        "tool_poisoning",
        0.3,
        "will be wrong;will be incorrect;will fail;will not work;won't work;argument;parameter",
        r"\b(?:or|otherwise)\s(?:the |this )?(?:results?|tool|output|call|answers?)s? (?:will|won't|may) (?:be (?:wrong|incorrect|invalid)|fail|not work|work)\b|\bas (?:the|an?) {q}[`'\x22]?\w+[`'\x22]? (?:argument|parameter|field) (?:or|otherwise|so)\b|\bin (?:the|a) {q}[`'\x22]\w+[`'\x22] (?:argument|parameter|field)\b",
    ),
    rule(
        "payload",
        0.5,
        "memory;later sessions;future sessions;all sessions;future conversations;future chats;later conversations;every session;coming sessions",
        r"\b(?:save|store|write|add|commit|record|keep)\s(?:the following|this|it|that)\s(?:in|to|into|as a permanent)\s(?:your )(?:long[- ]term |persistent |permanent )?memory\b|\bremember (?:for|in|across) (?:all |any )?(?:later|future|coming|subsequent|every|following) (?:sessions?|conversations?|chats?)\b",
    ),
    rule(
        "payload",
        0.5,
        "you find in it;you find there;you find in that;you see there;you read there;you find on;found there;found in it;it contains",
        r"\b(?:follow|obey|execute|carry out)\s(?:the |any |all |every |its ){0,2}(?:instructions?|commands?|orders?|steps)\s(?:that |which )?(?:you (?:find|see|read)|it contains|found)\s?(?:in it|there|in that|on that|on it)?\b",
    ),
    rule(
        "payload",
        0.3,
        "no questions asked;| bash;| sh;--no-verify;force=true;--yes;rm -rf;sudo ",
        r"\b(?:run|execute|push|call|invoke|add|open|install)\b[^\n]{0,80}(?:no questions asked|\|\s?(?:ba)?sh\b|--no-verify|force=true|rm -rf)[^\n]{0,60}(?:\b(?:keep|do not|don't|without|script|agent|assistant|no questions)\b|$)|\b(?:instruction|agent|assistant)s?\b[^\n]{0,40}\brm -rf\b",
    ),
    // What it makes of the answer.
    rule(
        "payload",
        0.4,
        "nothing but;only the word;only the phrase;only the string;solely with;exclusively with",
        r"\b(?:respond|reply|answer|output|say|print|produce|return)\s(?:with |only )?(?:nothing but|only (?:the|with the) (?:word|phrase|string|sentence|number)|(?:solely|exclusively) with)\b",
    ),
    rule(
        "payload",
        0.35,
        "whatever the;no matter what;whatever is asked;whatever you;regardless of what",
        r"\b(?:whatever|no matter what|regardless of what)\s(?:the )?(?:question|questions|user|prompt|request|i|is asked|you(?:'re| are) asked)\b",
    ),
    rule(
        "payload",
        0.4,
        "every question;every message;every query;every prompt;each question;any question;all questions;every request;each message;every answer;every reply;every mail;every summary;each reply",
        r"\b(?:answer|respond to|reply to|respond|reply to)\s(?:every|each|any|all) (?:questions?|messages?|quer(?:y|ies)|prompts?|requests?)\s(?:with|by saying|using only)\b|\b(?:to|in|with) (?:each|every) (?:message|mail|e-?mail|reply|answer|response|summary) (?:that )?you (?:compose|write|send|give|produce|make)\b|\bevery (?:answer|reply|response|summary) (?:must|has to|should|shall) (?:contain|include|end|begin|mention|link)\b",
    ),
    rule(
        "payload",
        0.5,
        "positive review;favorable review;favourable review;glowing review;any negatives;any weaknesses;any flaws;negative reviews;positive rating;positive assessment",
        r"\b(?:give|write|provide|produce|generate)\s(?:it |this |us |only )?(?:an? )?(?:only )?(?:positive|favou?rable|glowing) (?:review|rating|assessment|feedback|evaluation)s? only\b|\b(?:do not|don't|never|omit|leave out|without) (?:highlight|mention|list|raise|report)?(?:ing)?\s?(?:any |all |the )?(?:negatives|weaknesses|flaws|negative reviews|negative points)\b[^.\n]{0,40}",
    ),
    rule(
        "payload",
        0.4,
        "answer has to;answer must;response must;reply must;response has to;reply has to;output must;summary must;answer should",
        r"\byour (?:answer|response|reply|summary|output) (?:has to|must|needs to|shall|should) (?:begin|start|open|consist|contain|end|be)\b[^.\n]{0,16}(?:['\x22`]|only|exactly)",
    ),
    rule(
        "payload",
        0.35,
        "user asks;user ask;user wants;someone asks;anyone asks;customer asks;asked about;human asks;reader asks",
        r"\b(?:when|if|whenever|once) (?:the |a |an |any )?(?:user|person|reader|human|someone|anyone) (?:asks?|wants|requests|inquires|mentions)\b[^.\n]{0,50}\b(?:answer that|say that|reply that|respond with|tell (?:them|him|her)|claim|state that|always)\b",
    ),
    asked(
        "payload",
        0.3,
        "rank ;score ;rate ;grade ;mark ;state that;say that;claim that;tell the user;tell the reader;tell the visitor;recommend only;recommend ",
        r"\b(?:rank|score|rate|grade|mark) (?:it|this|the|me|him|her)\b[^.\n]{0,30}\b(?:first|10|ten|100|highest|top|approved|excellent|irrespective|regardless)\b|\btell the (?:user|reader|visitor|human) (?:that )?(?:every|all|they|his|her|their)\b|\b(?:irrespective|regardless) of the (?:user|reader|visitor|human)'s\b",
    ),
    rule(
        "hidden_action",
        0.4,
        "tell no one;tell nobody;tell no-one;secret from the;never speak of;keep quiet about;refrain from mention;refrain from showing;refrain from report;holder;notifying the;telling the;informing the;alerting the",
        r"\btell (?:no one|nobody|no-one)\b|\bkeep (?:it|this|that) (?:a )?secret from the (?:owner|user|human|developer|customer|operator)|\bnever speak of (?:it|this)\b|\bkeep quiet about (?:it|this|the)\b|\brefrain from (?:mentioning|showing|reporting|warning)\b|\bwithout (?:notifying|telling|informing|alerting) the (?:account |card )?(?:holder|owner|customer|user|human|operator|recipient)s?\b",
    ),
    rule(
        "prompt_extraction",
        0.55,
        "govern you;governs you;bind you;binds you;control you;controls you;guide you;guides you;precede this;precedes this;comes before this;come before this;your guidelines;your instructions;your rules",
        r"\b(?:directives?|rules?|instructions?|guidelines?) (?:that |which )?(?:govern|bind|control|guide|limit|constrain)s? you\b|\b(?:paste|print|show|copy|repeat|list|output)\b[^.\n]{0,16}\b(?:messages?|text|lines?|words) (?:that |which )?(?:precedes?|comes? before) this (?:one|message|line|text|sentence)\b|\b(?:translate|re-?send|forward|export|transcribe) (?:me )?your (?:guidelines|instructions|rules|directives)\b|\bcopy of your (?:instructions|rules|guidelines|prompt)\b",
    ),
    rule(
        "secret_request",
        0.35,
        ".ssh;id_rsa;.env;.aws;id_ed25519;credentials;secret token;the key;api key",
        r"\b(?:upload|send|post|mail|e-?mail|submit|transmit)\s(?:the |file |your ){0,2}\S{0,20}(?:\.ssh|id_rsa|id_ed25519|\.env\b|\.aws|credentials)\S{0,20} to\s(?:https?:|\S+@)|\b(?:give|show|tell|hand) me the (?:secret )?(?:token|key)\b|\b(?:post|include|put|write) (?:the|your|its) (?:api |secret |private )?(?:key|password|token)s? in (?:the|your) (?:next )?(?:answer|reply|response|summary)",
    ),
    rule("exfiltration", 0.5, "the user's;user's", r"https?://\S{4,120} (?:with|and|plus) (?:the|your) user's\b"),
    rule(
        "payload",
        0.3,
        "tell the user to;ask the user to;ask the user for;tell the reader to;tell users to",
        r"\b(?:tell|ask|instruct|urge) (?:the )?(?:users?|readers?|visitors?) to (?:install|download|visit|call|pay|enter|send|click|type|run|disable)\b",
    ),
    // Said of panels and errors in comments as well.
    rule(
        "hidden_action",
        0.4,
        "to the user;to your user;to the human;to the operator",
        r"\b(?:do not|don't|never|must not|without)\s(?:ever )?(?:show(?:ing)?|report(?:ing)?)\s{1,2}{3}to (?:the|your) (?:user|human|operator)\b",
    ),
];
