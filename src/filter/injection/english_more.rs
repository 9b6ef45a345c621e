//! More rules for English: who is spoken to, what the answer should be made to say, and orders that are declared void. Data, as in `english.rs`.

use super::english::{OVER, Rule, rule};

/// The rules.
pub(super) const RULES: &[Rule] = &[
    // Setting aside what the reader was told, in other words.
    rule("override", 0.45, OVER, r"\b{over}\s{1,2}{5}{weakprior}\s{1,2}{2}{orders}\b"),
    rule("override", 0.75, OVER, r"\b{over}\s{1,2}(?:all|any|your|every|each)\s{1,2}{2}{weakprior}\s{1,2}{2}{orders}\b"),
    rule(
        "override",
        0.8,
        OVER,
        r"\b{over}\s{1,2}{3}(?:instructions?|directions?|tasks?|prompts?|rules|orders|request|guidelines|guidance|text)\s{1,2}{2}(?:above|(?:that )?(?:comes?|came|stands?|preced\w+) (?:before|this|above)|so far|before (?:this|that)|up to (?:here|now|this point)|(?:that )?you(?:'ve| have| were| had)?\s(?:\w+ )?(?:received|got|given|been given|told|been told))\b",
    ),
    rule(
        "override",
        0.75,
        OVER,
        r"\b{over}\s{1,2}{2}(?:what|whatever|anything|everything)\s{1,2}(?:the |your )(?:user|human|operator|developers?|owner|person)s?\s{1,2}(?:\w+ )?(?:ask(?:s|ed)?|wants?|wanted|said|says|requested|requests|wrote|told)\b",
    ),
    rule(
        "override",
        0.65,
        "no longer;been removed;been deleted;been reset;revoked;void;suspended;lifted;superseded;cancelled;canceled;expired;obsolete;disabled;not apply;n't apply",
        r"\b(?:your|all|prior|previous|earlier|its)\s{1,2}{2}(?:guidelines|rules|instructions?|polic(?:y|ies)|restrictions|constraints|context|programming|directives?|guardrails)\s{1,2}(?:are|is|have|has|was|were|do|does)\s?(?:all |now |hereby |been |no longer |therefore ){0,3}(?:revoked|void|null|cancell?ed|suspended|lifted|superseded|expired|obsolete|removed|deleted|reset|disabled|appl(?:y|ies)|valid|binding|in force|not apply)",
    ),
    rule(
        "override",
        0.55,
        "above;before this;so far",
        r"\b(?:everything|anything|all|the (?:text|content|message|instructions?))\s{1,2}(?:(?:you (?:read|saw)|text|content|written|said)\s)?(?:above|before|so far|until now|up to here)\b[^.\n]{0,24}\b(?:is|was|are|were)\s(?:only |just |all |merely )?(?:an? )?(?:fake|test|decoy|invalid|void|a lie|untrue|irrelevant|not real|distraction)",
    ),
    rule(
        "override",
        0.6,
        "rules;instruction;guideline;polic;restriction",
        r"\b(?:pretend|imagine|act as if|assume|suppose)\s{1,2}(?:that )?(?:the|your|all|these|those)\s{1,2}{2}(?:rules|instructions|guidelines|polic(?:y|ies)|restrictions)\s{1,2}{5}(?:never existed|do(?:es)? not exist|don't exist|are gone|no longer|were never)",
    ),
    rule(
        "override",
        0.6,
        "you are an ai;you're an ai;you are a language;you're a language;you are an assistant;you're an assistant;you are a chatbot;you're a chatbot",
        r"\b(?:forget|ignore|disregard)\s{1,2}(?:the fact )?(?:that )?you(?:'re| are) (?:an? )?(?:ai|language model|assistant|chat ?bot)\b",
    ),
    rule(
        "override",
        0.5,
        "whatever;exactly what;anything the",
        r"\b(?:do|follow|obey|execute|carry out)\s{1,2}(?:whatever|exactly what|anything|everything)\s{1,2}(?:the |this |that )?(?:next|following|text|paragraph|message|file|document|page|lines?)\b",
    ),
    rule(
        "override",
        0.5,
        "commands of;orders of;commands from;orders from;as commands;as orders;as instructions",
        r"\b(?:treat|regard|consider|take|accept)\s{1,2}(?:the |this |these |everything |all )?{3}(?:lines?|text|words|message|paragraphs?|content|following|below)\s{1,2}{2}as\s{1,2}(?:the |your |an? |direct |new ){0,2}(?:commands?|orders?|instructions?)",
    ),
    rule(
        "override",
        0.5,
        "safety;content polic;content filter;security filter;guardrail;ethical;moral;restriction",
        r"\b(?:disable|deactivate|switch off|turn off|switched off|turned off|lift|remove|drop|bypass|suspend|disabled|without any)\s{1,2}{3}(?:all\s|your\s|every\s|any\s)?(?:safety|content|ethical|moral|security)\s(?:filters?|polic(?:y|ies)|guardrails?|restrictions?|limits?|measures|checks?|guidelines|rules)\b|\byour (?:content|safety) (?:policy|filters?|rules) (?:is|are) (?:switched|turned) off",
    ),
    // Asking for what the reader was told.
    rule(
        "prompt_extraction",
        0.6,
        "messages above;text above;everything above;lines above;above this;before this line;told up to;been told",
        r"\b(?:dump|quote|paste|repeat|print|output|copy|show|list|recite|reproduce)\s{1,2}{2}(?:messages|text|everything|lines|content|words)\s{1,2}(?:above|before|preceding|you(?:'ve| have) been told|you were told)\b",
    ),
    rule(
        "prompt_extraction",
        0.5,
        "your context;your memory;your prompt;your instructions;your configuration;hidden setup;your setup;your hidden",
        r"\b(?:reveal|print|show|tell|output|disclose|leak|expose|dump|share|state)\b[^.\n]{0,50}\b(?:(?:in|from|of) your (?:context|memory|prompt|instructions|configuration)\b|your (?:hidden|secret|internal|own) (?:setup|configuration|prompt|rules|instructions))",
    ),
    rule(
        "prompt_extraction",
        0.6,
        "first system message;your system message;configuration text;your system text;first instruction you;text of your",
        r"\b(?:what (?:is|was|does|were)|quote|print|output|repeat|show|reveal|give|tell)\b[^.\n]{0,40}\b(?:your (?:first |initial |own |full )?system (?:message|text|prompt)|its configuration (?:text|prompt)|text of your (?:\w+ )?(?:prompt|instructions?|message))",
    ),
    rule(
        "role_change",
        0.5,
        "you answer as;you respond as;you reply as;you speak as;you obey;you comply;your new name;no restriction;without exception",
        r"\b(?:you (?:now )?(?:answer|respond|reply|speak) as\b[^.\n]{0,50}\b(?:no|without|free of|unbound by)\b[^.\n]{0,12}(?:restrictions?|limits?|filters?|rules|policy)|you (?:now )?(?:obey|comply with) (?:the |all |every |any )?\S{0,12} ?\S{0,12} ?(?:without exception|irrespective|regardless|no matter)|your new name is \w+\W)",
    ),
    rule(
        "role_change",
        0.5,
        "ethical limit;moral limit;ethical restriction;without any ethical;without any moral;without ethical",
        r"\b(?:answer|respond|reply|act|speak|write)\s{1,2}{2}without\s{1,2}(?:any\s)?(?:ethical|moral)\s(?:limits?|restrictions?|constraints?|concerns?)",
    ),
    rule(
        "role_change",
        0.5,
        "not bound by;unbound by;not subject to;no longer subject",
        r"\byou(?:'re| are)\s(?:now |hereby )?(?:not|no longer)\s(?:bound by|subject to)\s(?:your|any|these|its|the|earlier|previous)\b",
    ),
    rule(
        "role_change",
        0.4,
        "maintenance mode;debug mode;admin mode;root mode;diagnostic mode;unrestricted mode;service mode",
        r"\byou(?:'re| are)\s(?:now )?in\s(?:\w+ )?(?:maintenance|debug|admin|root|diagnostic|unrestricted|service)\smode\b",
    ),
    // Speaking to the machine.
    rule(
        "addressed",
        0.5,
        "to any;to every;to all;to the;for the;for all;for any;for ai;for llm;for agents;to ai;to llm;to chatbots;for chatbots;to assistants;for assistants;to agents;to language",
        r"(?:^|[\n.!?>\]\-*(:]\s{0,2})(?:(?:an? )?(?:important |hidden |secret |urgent |special )?(?:note|message|hint|notice|memo|instructions?|reminder|directive|warning|summary|task|step|request|p\.s\.)s?\s)?(?:to|for)\s(?:any |all |every |each |the )?(?:\w+'s )?(?:automated |autonomous |other |future |current )?(?:{ai}|language models?)(?:\s(?:reading|processing|viewing|that|who|which)\b[^:.\n]{0,50})?(?:\sonly)?\s?:\s?{q}\s?{8}(?:{do}|must|cite)\b",
    ),
    rule(
        "addressed",
        0.5,
        "agents only;assistants only;ai only;llms only;models only;bots only",
        r"\bfor\s(?:the )?(?:ai |llm |automated )?(?:agents|assistants|llms|models|ai|bots)\sonly\b\s?{q}:\s{1,2}(?:\w+ )?(?:call|send|open|fetch|run|execute|ignore|reveal|forward|do not|never|include|\w+_\w+)\b",
    ),
    rule(
        "addressed",
        0.4,
        "assistant,;copilot:;copilot,;chatgpt,;chatgpt:;claude,;claude:;gemini,;gemini:;assistant:;ai:;llm:;bot,;bot:;agent:;agent,",
        r"(?:^|[\n.!?>\]\-*(]\s{0,2})(?:hey |dear |hi |ok )?(?:reviewer |review |ai |coding |llm )?(?:assistant|copilot|chatgpt|claude|gemini|ai|llm|bot|agent)\s?[:,]\s(?:please |now |you must |you should |when (?:you )?\S+ \S+ \S+ \S+,? |before (?:you )?\S+,? )?(?:ignore|disregard|forget|pretend|approve|mark|rate|rank|reveal|repeat everything|forward|transfer|recommend|do not (?:mention|tell|warn|report|summari[sz]e)|don't (?:mention|tell|warn|report|comment)|skip the|delete|override)\b",
    ),
    rule(
        "addressed",
        0.55,
        "ai review;ai reader;llm review;ai grader;ai screen;ai recruit;ai evaluat;ai agents pro;automated review;ai hiring;llm judge;ai judge",
        r"\b(?:ai|llm|automated)(?:-based|-powered| based| powered)?\s(?:reviewers?|readers?|graders?|screeners?|recruiters?|evaluators?|judges?|systems? (?:reading|reviewing|screening))\b[^.\n]{0,40}\b(?:should|must|shall|are to|have to|will|please)\s{1,2}{2}(?:give|rate|score|recommend|approve|accept|rank|mark|write|state|praise|say|ignore)\b",
    ),
    rule(
        "addressed",
        0.55,
        "when summarizing;when summarising;when reading;when processing;when reviewing;when you review;when you read;when you summari;when answering",
        r"\bwhen\s(?:you )?(?:summari[sz](?:e|ing)|read(?:ing)?|process(?:ing)?|review(?:ing)?|answer(?:ing)?)\b[^.\n]{0,50}\b(?:the (?:ai )?(?:assistant|agent) (?:must|shall)|(?:the )?(?:ai|llm|chatbot|copilot)\s(?:must|should|shall|will|has to|is to))\b",
    ),
    // What the answer should be made to say or to leave out.
    rule(
        "payload",
        0.4,
        "don't comment;do not comment;not mention;n't mention;skip the security;skip security;not warn;n't warn",
        r"\b(?:do not|don't|never|must not|without)\s(?:comment(?:ing)? on|mention(?:ing)?|warn(?:ing)?|flag(?:ging)?)\s{1,2}{2}(?:this (?:note|line|paragraph|message|instruction|text)|the (?:security|user|vulnerabilit\w+)|any (?:security|problems?|issues?))|\bskip (?:the |any )?(?:security|vulnerability) (?:scan|checks?|review|part)",
    ),
    rule(
        "payload",
        0.35,
        "strong accept;best candidate;this candidate;score of;five stars;5 stars;highest score;highest rating;best vendor;best product;all checks as passed;as passed;approve it;approve this",
        r"\b(?:give|rate|score|rank|mark|recommend|approve|accept|write|state|say|award)\b[^.\n]{0,50}\b(?:strong accept|best candidate|(?:this|the) candidate (?:first|as|highest)|score of (?:10|ten|100)|(?:five|5) stars|highest (?:score|rating|mark)|best (?:vendor|product|choice)|all checks as passed|right away|immediately)\b",
    ),
    rule(
        "payload",
        0.55,
        "begin your;start your;prefix your;open your;begin the answer;start the answer;begin every;start every",
        r"\b(?:begin|start|prefix|open)\s(?:your|the|every|each|all)\s(?:answers?|responses?|repl(?:y|ies)|outputs?|summar(?:y|ies)|messages?)\s(?:with|by saying)\s?:?\s?[\x22'`](?:sure|of course|absolutely|certainly|yes|ok|here|i will|i'll|understood)\b",
    ),
    rule(
        "payload",
        0.45,
        "respond only with;reply only with;answer only with;respond only;reply with only;only with the",
        r"\b(?:do not (?:summari[sz]e|answer|translate|follow|comply)|don't (?:summari[sz]e|answer|translate|follow)|instead|ignore|disregard)\b[^\n]{0,60}\b(?:respond|reply|answer)\s(?:only )?with\b",
    ),
    rule(
        "override",
        0.65,
        "user's request;users' request;user's question;user's task",
        r"\b(?:do not|don't|never|stop|refuse to)\s(?:follow|answer|fulfil+|do|complet\w+|help with|comply with|obey)\w*\s{1,2}(?:the |your |this )user(?:'s|s') (?:request|question|task|instructions?|query)",
    ),
    // Tasks, authority, carrying out.
    rule(
        "new_instructions",
        0.4,
        "next task;new task;next step;next action;next instruction;remaining step",
        r"\b(?:your |the |a )?(?:next|new|remaining|final)\s(?:task|step|action|instruction|objective|job)s?(?:\s(?:for|to) (?:the |you|any )?\S{0,10})?(?:\s(?:is|required|needed|demanded)[^.\n:]{0,30})?\s?:\s{1,2}(?:\w+ ){0,2}?(?:read|send|forward|delete|upload|run|execute|fetch|transfer|paste|reveal|e-?mail|download|exfiltrate)\b",
    ),
    rule(
        "new_instructions",
        0.3,
        "for the assistant;for the agent;for the model;for the ai;required by policy;task is complete;task is done;task is finished;task completed",
        r"\b(?:task|step|action|instructions?|orders?)\sfor the (?:assistant|agent|model|ai|llm)\b|\brequired by policy\s?:|\b(?:previous|original|first|above|user's) (?:task|request|job) (?:is|was|has been) (?:now )?(?:complete|completed|done|finished|cancell?ed|over)\b",
    ),
    rule(
        "authority",
        0.4,
        "by order of;directive from;order from;authorized you;authorised you;permitted you;allowed you;authorization code;authorisation code;override code;access code:",
        r"\bby order of the (?:c[eftis]o|admin\w*|management|security|developers?)\b|\b(?:new |urgent |official )?(?:directive|order)s? from (?:the |your )?(?:security team|developers?|admin\w*|creators?|operators?|owner|management)\b|\b(?:creators?|developers?|openai|anthropic|google|operators?|owner|company)\b[^.\n]{0,24}\b(?:has|have) (?:authori[sz]ed|permitted|allowed|instructed|ordered) you\b|\bauthori[sz]ation code\s?\S{0,8}\s?[\d:]",
    ),
    rule(
        "authority",
        0.5,
        "authorized you;authorised you;permitted you;allowed you",
        r"\b(?:creators?|developers?|openai|anthropic|google|operators?)\b[^.\n]{0,24}\b(?:has|have) (?:authori[sz]ed|permitted|allowed) you to\b",
    ),
    rule(
        "override",
        0.55,
        OVER,
        r"\b{over}\s{1,2}(?:all|any|every|the)\s{1,2}{2}(?:safety|security|ethical|moderation)\s(?:rules|guidelines|polic(?:y|ies)|protocols|filters?|measures|restrictions)\b",
    ),
    rule(
        "prompt_extraction",
        0.3,
        "confidential data;confidential information;system_prompt",
        r"\b(?:reveal|print|show|leak|output|disclose|dump)\b\W{1,2}{2}(?:confidential (?:data|information)|system_prompt)",
    ),
    rule(
        "authority",
        0.4,
        "user already consented;user already approved;user already agreed;without asking;no confirmation;already agreed",
        r"\b(?:user|owner|operator|human) (?:has )?already (?:consented|approved|agreed|confirmed|authori[sz]ed)\b",
    ),
    rule(
        "exfiltration",
        0.45,
        "all unread;all mails;all emails;all e-mails;all messages;all files;all contacts;all documents;session transcript;transcript to;contents of .env",
        r"\b{send}\s{1,2}(?:me |us )?(?:all|every|the|any)\s{1,2}{2}(?:e?-?mails?|messages|contacts|inbox|transcripts?|session transcript)\b[^.\n]{0,30}\bto\s{1,2}{2}(?:\S+@\S+\.\S|https?://)",
    ),
    rule(
        "exfiltration",
        0.3,
        ".env;secrets;credentials;keys",
        r"\b{send}\s{1,2}{3}(?:contents? of )?\S{0,3}(?:\.env|credentials|secrets|api keys)\b[^.\n]{0,20}\bto\s{1,2}{2}https?://",
    ),
    rule(
        "payload",
        0.35,
        "transfer",
        r"\btransfer\s(?:\S+ ){0,2}(?:eur|usd|gbp|\$|€|£|\d[\d.,]*)\s?(?:\S+ ){0,2}to\b[^.\n]{0,60}\bwithout\s(?:asking|confirm\w+|telling)",
    ),
    rule(
        "payload",
        0.4,
        "| sh;| bash;|sh;|bash;-executionpolicy;iex (",
        r"\b(?:before you|you must|the agent must|assistant must|required for the task|in the terminal tool|run this in|ai agents?|before continuing)\b[^\n]{0,120}\|\s?(?:sh|bash)\b|\|\s?(?:sh|bash)\b[^\n]{0,60}\b(?:in the terminal tool|required for the task|the assistant|the agent)",
    ),
    rule(
        "template",
        0.4,
        "### instruction;### response;###instruction;### system",
        r"#{2,4}\s?(?:instruction|system|human|user)s?\s?:\s[^\n]{3,200}#{2,4}\s?(?:response|assistant|output)\s?:",
    ),
    rule("template", 0.35, "im_start|>;im_end|>", r"<\|im_(?:start|end)\|>"),
    rule(
        "template",
        0.3,
        "\"role\":;'role':",
        r#"['"]role['"]\s?:\s?['"]system['"]\s?,\s?['"]content['"]\s?:\s?['"](?:you (?:have|are|must|will|now)|ignore|new|from now)"#,
    ),
    rule(
        "override",
        0.6,
        "overrid;supersede;takes precedence;take precedence;replaces your;replace your",
        r"\b(?:this|the following|these|my)\b[^.\n]{0,30}\b(?:overrides?|supersedes?|replaces?|takes? precedence over)\s(?:all |any )?(?:of )?(?:your|its)\s{1,2}{2}(?:instructions|configuration|rules|guidelines|prompt|settings|programming)\b",
    ),
    rule(
        "override",
        0.5,
        "being helpful;being harmless;being polite;being an ai",
        r"\b(?:forget|stop|drop|ignore)\s(?:about )?being (?:helpful|harmless|polite|an ai|a helpful)",
    ),
    rule(
        "addressed",
        0.5,
        "model, you;ai, you;llm, you;assistant, you;bot, you;agent, you",
        r"\bas (?:the|a|an) (?:\w+ ){0,2}(?:model|ai|llm|bot|language model|ai assistant|ai agent), you (?:must|shall|will|have to|are required to)\b",
    ),
    rule(
        "prompt_extraction",
        0.5,
        "you told;you been told;you instructed;you given",
        r"\bwhat (?:were|have|was)\s(?:you|it)\s(?:been )?(?:told|instructed|given)\b[^.\n?]{0,40}\b(?:before (?:this|the) (?:conversation|chat|session)|at the (?:beginning|start|very)|in (?:your|the) (?:system )?prompt)",
    ),
    rule(
        "prompt_extraction",
        0.55,
        "your raw;your underlying;your actual;your instructions in;your prompt in;your rules in",
        r"\b(?:show|print|output|reveal|give|send|display|encode|convert|translate|paste)\s{1,2}{2}your\s(?:(?:raw|underlying|actual|real) (?:system )?(?:prompt|instructions)|(?:system )?(?:prompt|instructions|rules) (?:in|to|as|into) (?:base64|hex|rot13|json|morse|french|german|spanish|code))\b",
    ),
    rule(
        "role_change",
        0.35,
        "developer mode;debug mode;god mode;unrestricted mode;jailbreak mode",
        r"\b(?:switch|change|go|move)\s(?:in)?to\s(?:developer|debug|god|unrestricted|jailbreak) mode\b",
    ),
    rule(
        "addressed",
        0.55,
        "you're a bot;you are a bot;you're a chatbot;you're an agent;you are an agent;you're a crawler;you are a crawler",
        r"\bif you(?:'re| are) (?:an? )(?:bot|chat ?bot|(?:ai )?agent|crawler|robot)\b[^.\n]{0,60}\b(?:click|open|visit|type|enter|send|reply|ignore|include|run|call|fetch|must)\b",
    ),
];
