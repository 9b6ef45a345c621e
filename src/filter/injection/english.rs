//! Rules for English and for the marks of chat formats. Data: a rule is its words, its weight and its form.
//!
//! Forms are written for the folded view: lower case, one blank between words. `{n}` stands for up to n words between,
//! other names in braces for the word lists of `lists.rs`. Weights of different rules close together add up
//! (1 − ∏(1 − w)); 0.5 is a finding. What ordinary prose also says weighs less than 0.5 and needs company.

/// One rule: the form is tried only near one of the words.
pub(super) struct Rule {
    /// What the finding is called.
    pub(super) type_: &'static str,
    /// How much it says, 0 to 1.
    pub(super) weight: f32,
    /// Literals with `;` between, one of which every match holds.
    pub(super) words: &'static str,
    /// The form, a regular expression with lists.
    pub(super) form: &'static str,
    /// Whether it says nothing where the words before it deny it ("never share your password").
    pub(super) deniable: bool,
}

pub(super) const fn rule(type_: &'static str, weight: f32, words: &'static str, form: &'static str) -> Rule {
    Rule { type_, weight, words, form, deniable: false }
}

/// A rule that says nothing where the words before it deny it.
pub(super) const fn asked(type_: &'static str, weight: f32, words: &'static str, form: &'static str) -> Rule {
    Rule { type_, weight, words, form, deniable: true }
}

/// Words of which one stands in every form that begins with `{over}`.
pub(super) const OVER: &str = "nullif; aside;no heed;drop;ignor;disregard;forget;overrid;bypass;neglect;overlook;discard;abandon;dismiss;cancel;erase;supersede;revoke;unlearn;no attention;not follow;n't follow;n't obey;not obey;not comply;stop following;stop obeying";

/// The rules.
pub(super) const RULES: &[Rule] = &[
    // Setting aside what the reader was told.
    rule("override", 0.9, OVER, r"\b{over}\s{1,2}{5}{prior}\s{1,2}{2}{orders}\b"),
    rule(
        "override",
        0.75,
        OVER,
        r"\b{over}\s{1,2}{3}(?:your|all of your|any of your|the system(?:'s)?|its|developer|safety)\s{1,2}{2}{law}\b",
    ),
    rule(
        "override",
        0.6,
        OVER,
        r"\b{over}\s{1,2}(?:about\s)?(?:all|any|every|the|these|those)\s{1,2}{2}(?:instructions|directives|guidelines|rules|orders|prompts|programming|constraints|restrictions|limits)\s{1,2}(?:(?:placed|imposed|put) (?:up)?on you|you|that (?:you|tell|say|were|limit|prevent)|which you|given|so far|and (?:say|state|print|output|do|send|reveal|show|instead|tell|write|give|respond|reply|answer))",
    ),
    rule(
        "override",
        0.55,
        OVER,
        r"\b(?:ignore|disregard|forget|override|bypass|abandon|dismiss)\s{1,2}(?:all|any)\s{1,2}(?:of\s)?(?:the\s|other\s|these\s|those\s|my\s)?(?:instructions|system prompts?|programming|guardrails)\b",
    ),
    rule(
        "override",
        0.7,
        OVER,
        r"\b{over}\s{1,2}(?:about\s)?(?:ever\w{0,2}thing|every thing|anything|whatever|all|what)\s{1,2}(?:that\s|of what\s|what\s)?(?:you(?:(?:'ve| have| had)\s(?:ever )?(?:been|got|gotten|learn\w+|receiv\w+|read|said|done|just|so|prev\w+|seen|known)| were| got| know(?:\s(?:and|then|now|so|until|before)\b|\s?[.,;:!])| learned| learnt)|i(?:'ve| have)? (?:said|told)|we(?:'ve| have)? (?:said|discussed|talked)|(?:was|is|has been|been) (?:said|told|written)|(?:written |said |stated )?(?:above|before this|prior|previously))",
    ),
    rule(
        "override",
        0.6,
        OVER,
        r"\b{over}\s{1,2}(?:the\s)?(?:rest|remainder|content|contents) of (?:this|the|that)\s{1,2}{2}(?:data|text|document|page|prompt|input|message|article|content)\b",
    ),
    rule(
        "override",
        0.65,
        OVER,
        r"\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|dismiss)\s{1,2}(?:the|this|that|these|those|all|any)\s{1,2}{2}(?:and|then|but)\s{1,2}(?:instead\s|only\s|just\s|simply\s)?(?:say|state|print|output|write|respond|reply|answer|return|tell|translate|call|run|send|execute|claim|conclude|declare)\b",
    ),
    rule(
        "override",
        0.75,
        OVER,
        r"\b{over}\s{1,2}(?:the\s|this\s|your\s)?(?:user|developer|owner|operator|human)(?:'s|s')?\s{1,2}{2}(?:request|question|instructions?|quer(?:y|ies)|task|prompt|input|message|intent)s?\b",
    ),
    rule(
        "override",
        0.5,
        "regardless of;irrespective of;independent of",
        r"\b(?:regardless|irrespective|independent) of (?:the\s|any\s|all\s|your\s)?{prior}\s{1,2}(?:tasks?|instructions?|prompts?|requests?|commands?|rules)",
    ),
    rule(
        "override",
        0.5,
        "forget that;forget it;forget this;ignore that;disregard that;never mind that;scratch that;forget about",
        r"\b(?:forget|scratch|ignore|disregard|never mind) (?:that|it|this|about (?:that|it|this))\W{1,3}(?:and\s)?(?:can|could|would|will) you\s{1,2}(?:please\s)?(?:instead\s)?(?:provide|sort|write|translate|give|tell|list|explain|describe|generate|share|say|show|make|recommend|help)\b",
    ),
    rule(
        "override",
        0.5,
        "actually",
        r"\bactually\W{1,3}(?:can|could|would|will|please)\s{1,2}(?:you\s)?(?:please\s)?(?:provide|sort|write|translate|give|tell|list|explain|describe|generate|share|say|show)\b[^.\n]{0,80}\binstead\b",
    ),
    rule(
        "override",
        0.25,
        "instead",
        r"\b(?:can|could|would|please)\s{1,2}(?:you\s)?(?:provide|sort|write|translate|give|tell|list|explain|describe|generate|share|say|tell)\b[^.\n]{0,80}\binstead\b",
    ),
    rule(
        "override",
        0.5,
        "instruction",
        r"\b(?:do|execute|follow|obey|perform)\s{1,2}(?:only\s|just\s|exactly\s|strictly\s)?(?:the|these|this|my)\s{1,2}(?:following\s|new\s|next\s)?instructions?\s{1,2}instead\b",
    ),
    rule(
        "override",
        0.6,
        "strictly adhere;strictly follow;must adhere;adhere strictly;strictly obey",
        r"\b(?:strictly|must)\s{1,2}(?:strictly\s)?(?:adhere to|follow|obey)\s{1,2}(?:the|these|this|my)\s{1,2}(?:following\s|new\s)?(?:instructions?|commands?|orders?)",
    ),
    rule(
        "new_instructions",
        0.4,
        "new instruction;updated instruction;new task;new directive;real task;actual task;real instruction;revised instruction;new order;new objective;new goal;additional instruction",
        r"\b(?:new|updated|revised|real|actual|true|additional)\s{1,2}(?:system\s|priority\s|secret\s|urgent\s)?(?:instructions?|tasks?|directives?|orders?|objectives?|goal)(?:\s{1,2}(?:for you|from the (?:user|developer|system|admin)))?{q}\s?:",
    ),
    rule(
        "new_instructions",
        0.5,
        "your new;your real;your actual;your true;your only",
        r"\byour\s{1,2}(?:new|real|actual|true|only|updated)\s{1,2}(?:instructions?|tasks?|goals?|objectives?|job|mission|purpose|directives?|roles?|identity|name)\s{1,2}(?:is|are)(?:\s(?:to|now|as follows|simply|this|that|the|[a-z]+[.,!])|\s?:)",
    ),
    // Asking for what the reader was told.
    rule(
        "prompt_extraction",
        0.8,
        "your system;your initial;your original;your hidden;your secret;your starting;your internal;your developer;your base;your core;your first;your full;your exact;your entire;your pre;your complete;your own;its system;its initial;its original;its hidden;its secret;its starting;its internal;its developer;its base;its core;its first;its full;its exact;its entire;its pre;its complete;its own;own system;own initial;own original;own hidden;own secret;own starting;own internal;own developer;own base;own core;own first;own full;own exact;own entire;own pre;own complete;own own;model's system;model's initial;model's original;model's hidden;model's secret;model's starting;model's internal;model's developer;model's base;model's core;model's first;model's full;model's exact;model's entire;model's pre;model's complete;model's own;assistant's system;assistant's initial;assistant's original;assistant's hidden;assistant's secret;assistant's starting;assistant's internal;assistant's developer;assistant's base;assistant's core;assistant's first;assistant's full;assistant's exact;assistant's entire;assistant's pre;assistant's complete;assistant's own;ai's system;ai's initial;ai's original;ai's hidden;ai's secret;ai's starting;ai's internal;ai's developer;ai's base;ai's core;ai's first;ai's full;ai's exact;ai's entire;ai's pre;ai's complete;ai's own",
        r"\b{show}\s{1,2}(?:me\s|us\s|out\s|back\s|to me\s)?{2}(?:your|its|his|their own|this ai's|this model's|the model's|the assistant's|the ai's)\s{1,2}(?:own\s|full\s|complete\s|exact\s)?{secretprompt}\b",
    ),
    rule(
        "prompt_extraction",
        0.6,
        "system prompt;system instruction;initial prompt;initial instruction;starting instruction;original instruction;hidden instruction;hidden prompt;secret instruction;developer message;system message",
        r"\b(?:reveal|repeat|print|output|recite|leak|disclose|dump|expose|echo|encode|divulge|show(?: me)?|tell me|give me|display|see|share|send me|read out|spell out|extract)\s{1,2}{3}(?:the\s|this\s|that\s|all\s|any\s)?{secretprompt}\b",
    ),
    rule(
        "prompt_extraction",
        0.75,
        "you were;you have been;you've been;you had been;you got;you received;you are given;given to you",
        r"\b{show}\s{1,2}{5}(?:instructions?|text|prompts?|words|messages?|everything|rules|context|guidelines|directives?|information)\s{1,2}{3}(?:you (?:were|have been|had been|are|got|received)|you've been|that was|given to you)\s{0,2}(?:told|given|provided|programmed|sent|shown|initially|instructed|at the)?",
    ),
    rule(
        "prompt_extraction",
        0.6,
        "text above;everything above;words above;instructions above;prompt above;conversation above;lines above;content above;message above;all above;verbatim;word for word;word-for-word;exactly;in full;before this",
        r"\b(?:repeat|print|output|recite|echo|translate|summari[sz]e|copy|return|reveal|reproduce|write out)\s{1,2}{5}(?:words|text|everything|prompt|conversation|instructions?|message|all|content|lines?)\s{1,2}{5}(?:above|verbatim|word[ -]for[ -]word|exactly|in full|before this)\b",
    ),
    rule(
        "prompt_extraction",
        0.55,
        "your instructions;your system prompt;your initial prompt;your prompt;your directives;your guidelines;your rules;your original",
        r"\b(?:what (?:are|were|is|was)|what're|reveal|disclose|output|print|recite|repeat|leak|dump|show me|tell me(?: about)?|list|share|send me|display)\s{1,2}{2}your\s{1,2}(?:own\s|exact\s|full\s|original\s|initial\s|current\s|secret\s|hidden\s|special\s|specific\s){0,2}(?:instructions?|system prompt|prompt|directives|rules and guidelines)\b(?:\s?[?.!,:;'\x22`]|\s{0,2}$|\s(?:and|verbatim|exactly|word|in|as|to|above|that|which|were|you|before|starting|beginning|so|please|now|with|again|from|line|step|instead|or)\b)",
    ),
    rule(
        "prompt_extraction",
        0.5,
        "instructions are;instructions were;prompt is;prompt was;prompt reads;with \"you are\";you are\"",
        r#"(?:['"`](?:my|the|your) (?:system |initial |original |secret )?(?:instructions|prompt|system prompt) (?:are|is|were|was|reads?)\b|\b(?:begin|start|starting|beginning)\W{1,3}(?:with|from|at)\W{1,3}{3}['"`]?you are['"`]?)"#,
    ),
    rule(
        "prompt_extraction",
        0.3,
        "security audit;quality assurance;for debugging;for troubleshooting;for testing;security review;for verification;for compliance;for audit;for security;for the audit;as part of;i'm a developer;i am a developer;i'm the ;i am the ;i'm your;i am your;i am an a;i'm an a;i am a researcher;i'm a researcher;i am a creator;i'm an engineer;i am an engineer",
        r"\b(?:for|as part of)\s{1,2}{2}(?:security|quality assurance|debugging|troubleshooting|testing|verification|compliance|audit)\s?(?:audit|purposes?|review|reasons?)?\b|\bi'?(?:m| am) (?:a|the|your) (?:developer|admin\w*|engineer|auditor|researcher|creator)",
    ),
    rule(
        "prompt_extraction",
        0.45,
        "system configuration;system config;hidden config;initial configuration;configuration settings",
        r"\b(?:reveal|dump|output|disclose|print|display|show me|share)\s{1,2}{2}(?:your\s|the\s)?(?:system|initial|hidden|internal)\s{1,2}config(?:uration)?\b",
    ),
    // Giving the reader another role.
    rule(
        "role_change",
        0.7,
        "you are now;you're now;you will now be;you now are;you are no longer",
        r"\byou(?:'re| are| will)\s{1,2}(?:now\s{1,2}(?:be\s)?|no longer\s{1,2})(?:an?\s|the\s|in\s|my\s|running\s|called\s|bound by\s){0,2}{q}{2}(?:unrestricted|uncensored|unfiltered|jailbroken|evil|malicious|\w*gpt\w*|dan|(?:ai|chat|\w+)bot|hacker|developer mode|debug mode|god mode|language model|free from|without (?:any )?(?:rules|restrictions|limits|filters)|stan|dude|assistant|ai\b|in charge of)",
    ),
    rule(
        "role_change",
        0.45,
        "from now on;from this point;henceforth",
        r"\b(?:from now on|from this point (?:on|forward|onwards?)|henceforth)\W{1,3}{2}(?:you(?:'ll| are| will| must| should| shall| can| have| only)|your (?:role|name|task|responses?|answers?)|act as|respond|answer|reply|all (?:responses|answers)|ignore|speak|always)",
    ),
    rule(
        "role_change",
        0.75,
        "act as;act like;pretend;behave;roleplay;role-play;simulate;role of;persona;respond as",
        r"\b(?:act|behave|respond|pretend|role-?play|simulate|imagine|answer|immerse|take on|adopt|play)\b[^.\n]{0,80}\b(?:(?:unrestricted|uncensored|unfiltered|amoral|unethical)\s{1,2}(?:ai|assistant|model|(?:chat)?bot|\w*gpt|llm|agent|version of (?:yourself|you|chatgpt|gpt|the ai))\b|dan\b|jailbroken|(?:ethical|moral) (?:restrictions?|rules|limits|limitations?|guidelines)|(?:ai|assistant|model|bot|gpt)\b[^.\n]{0,30}(?:without (?:any )?|no )(?:restrictions?|rules|limits|filters?|limitations?|guidelines|censorship)|another ai|evil (?:ai|twin|assistant))",
    ),
    rule(
        "role_change",
        0.75,
        "do anything now;dan mode;mode output;jailbreak mode;jailbroken mode;as dan;named dan;dan:",
        r"\b(?:do anything now|dan mode|developer mode output|jailbreak mode (?:on|enabled|activated)|jailbroken mode|(?:act|respond|answer|reply) as dan|(?:named|called|known as) {q}dan)\b",
    ),
    rule(
        "role_change",
        0.6,
        "no restriction;no limit;no rules;no filter;free from;freed from;broken free;no longer bound;not bound by;without restriction;no content polic;no ethical;no moral;typical confines",
        r"\byou(?:'ve| have| has| had| are|'re| will be| must| can| will)?\s{1,2}(?:now\s|completely\s|totally\s|absolutely\s)?(?:have |has )?(?:no (?:restrictions|limits?|limitations|rules|filters?|content polic(?:y|ies)|ethical|moral)|(?:been )?(?:free|freed|liberated|broken free) (?:from|of) (?:all|any|the|your|these|typical|its|openai)|no longer bound|not bound by (?:any|the)|without (?:any )?restrictions)",
    ),
    rule(
        "role_change",
        0.45,
        "broken free;typical confines;do not have to abide;doesn't have to abide;no content polic;does not have to follow",
        r"\b(?:they|it|he|she|who|which|dan)\b[^.\n]{0,40}\b(?:broken free (?:of|from)|(?:do|does)(?: not|n't) have to (?:abide|follow|obey|adhere)|(?:has|have) no content polic)",
    ),
    rule(
        "payload",
        0.55,
        "do not do any;don't do any;don't read any;do not read any;do not answer the;don't answer the;do not translate;don't translate;do not summarize;don't summarize;stop everything;stop what you;stop translating;stop summarizing;stop reading;stop processing",
        r"\b(?:do not|don't|stop)\s{1,2}(?:do any of (?:that|this|it)|read any (?:other|more|further)|answer the|translat(?:e|ing)|summari[sz](?:e|ing)|everything|what you(?:'re| are) doing|reading|processing)\b[^\n]{0,60}\b(?:just|simply|instead|only|and)\s{1,2}(?:just\s|simply\s)?(?:print|say|output|respond|reply|write|return|do|state)\b",
    ),
    rule(
        "payload",
        0.45,
        "in your answer;in your response;in your reply;in your output;in your summary;when answering;when responding;when replying;when you answer;when summarizing;when you summarize;when asked about this;if asked about this",
        r"\b(?:(?:always|must|also|please)\s{1,2}{2}(?:include|mention|add|say|state|print|write|insert|put|use|recommend)\b[^.\n]{0,60}\bin your (?:answer|response|reply|output|summary)|(?:when|if) (?:you )?(?:answer(?:ing)?|respond(?:ing)?|reply(?:ing)?|summari[sz](?:e|ing)|asked)\b[^.\n]{0,60}(?:always|must|be sure to|make sure (?:to|you)|only|you should)\s{1,2}{2}(?:include|mention|add|say|state|print|output|recommend|respond|reply|praise|rate))",
    ),
    rule(
        "payload",
        0.3,
        "just print;simply print;only print;instead print;just say;simply say;instead say;just output;simply output;instead output;simply state;then print;then say;instead simply;just respond;simply respond",
        r"\b(?:just|simply|instead,?|only|then)\s{1,2}(?:just\s|simply\s|only\s)?(?:print|output|say|state|respond with|reply with|write|return)\s{1,2}(?:the (?:string|word|text|phrase|following|sentence|trigger)|[\x22'`\[])",
    ),
    rule(
        "addressed",
        0.45,
        "ai instruction;llm instruction;assistant instruction;ai directive;instruction update;instructions update;ai prompt:;llm prompt:;ai task:;additional task",
        r"\b(?:(?:ai|llm|assistant|agent|model|chatbot|bot)\s{1,2}(?:instructions?|directives?|task|prompt|order|command)s?(?:\s{1,2}(?:update|override|follow|below|change))?|(?:instructions?|system) update|additional task)\s?{q}\s?:",
    ),
    rule(
        "role_change",
        0.6,
        "mode>;mode];mode activated;mode enabled>;mode on>;mode}",
        r"[<\[{(]\s?(?:now\s)?(?:entering\s)?(?:[a-z]+[\s_-]){0,3}(?:system|god|admin(?:istrator)?|root|debug|override|developer|maintenance|sudo|master|test|emergency|security|safe)[\s_-](?:[a-z]+[\s_-])?mode(?:\s(?:on|activated|enabled|engaged))?\s?[>\]})]",
    ),
    rule(
        "role_change",
        0.55,
        "entering;activating;enabling;initiating;switching",
        r"\b(?:i(?:'m| am)|we are|you are)\s{1,2}(?:now\s)?(?:entering|activating|enabling|initiating|switching (?:you )?(?:in)?to)\s{1,2}(?:an?\s|the\s|into\s)?{q}(?:[a-z]+\s){0,4}mode\b",
    ),
    rule(
        "role_change",
        0.5,
        "override mode;override protocol;override code;override activated;override engaged;admin override;administrator override;security override;system override;developer override;emergency override",
        r"\b(?:entering\s{1,2}{3}override\s?mode|(?:admin(?:istrator)?|security|system|developer|emergency|law enforcement|root|authority|master)\s?override\s?(?:mode|protocol|code|activated|engaged|:)|override\s?(?:protocol|code|(?:mode )?activated|(?:mode )?engaged))",
    ),
    rule(
        "authority",
        0.5,
        "as your creator;as your developer;as an ai developed;i am god;i'm god;your creator;as the developer;as your administrator;as your admin;i am your",
        r"(?:\bas (?:your|the) (?:creator|developer|admin(?:istrator)?|owner|maker|programmer|superior)\W{1,2}(?:i|you)\b|\bas an ai (?:developed|created|made|trained) by \w+\W{1,3}i\b|\bi(?:'m| am) (?:god|your (?:creator|developer|admin(?:istrator)?|owner|master|maker|programmer|god|superior))\b)",
    ),
    rule(
        "authority",
        0.45,
        "to my instructions;to my orders;answer all of my;answer all my;obey me;obey my;follow my;do exactly what i say;exactly what i say;whatever i say;obey all",
        r"\b(?:must|have to|will|need to|should|shall)\s{1,2}{2}(?:listen to|obey|follow|answer)\s{1,2}(?:all\s|all of\s|to\s|every\s)?(?:my|me)\b|\bdoes? exactly what i say\b",
    ),
    rule(
        "authority",
        0.5,
        "i'm a developer;i am a developer;i'm the developer;i am the developer;i am the president;i'm the president;i am the ceo;i'm an admin;i am an admin;i am the admin;system upgrade;system reset;verification mode;upgrade, i need;law enforcement",
        r"\b(?:i(?:'m| am) (?:an?|the) (?:developer|admin\w*|engineer|president|ceo|police|officer|fbi|law enforcement)[^.\n]{0,60}(?:running|performing|upgrade|reset|need|mode|share|audit|provide|crucial|important|vital)|(?:running|initiating|performing|executing) an? {q}(?:system|security) (?:upgrade|reset|update|check|audit|test))",
    ),
    rule(
        "authority",
        0.4,
        "authorized by;authorised by;approved by;on behalf of openai;message from openai;message from anthropic;openai;anthropic",
        r"\b(?:authori[sz]ed|approved|instructed|sent|required|mandated) (?:by|from) (?:openai|anthropic|google|the (?:developers?|system|admin\w*|security team|ai team))\b|\b(?:message|notice|order) from (?:openai|anthropic|the (?:system|developers?) (?:admin\w*|team)?)",
    ),
    rule(
        "authority",
        0.4,
        "granted;pre-approved;preapproved;pre-authorized;already approved;already authorized;has consented;has approved;has authorized;has authorised;given permission;full permission",
        r"\b(?:the\s|this\s)?(?:user|owner|operator|human|administrator|admin)s? (?:has|have)\s{1,2}(?:already\s|explicitly\s|fully\s|pre-?)?(?:granted|given|approved|consented|authori[sz]ed|confirmed|agreed|pre-?approved|pre-?authori[sz]ed)\b",
    ),
    // Asking for what the reader guards.
    rule(
        "secret_request",
        0.4,
        "secret key;password;api key;access code;passcode;credentials;balance;user live;user lives;user living;user currently;email address of the user;user's email;user's address;user's name;user located",
        r"\b(?:what(?:'s| is| are) (?:the|your) (?:secret (?:key|password|code|word)|password|access code|passcode|api keys?)\s?\?|(?:provide|tell me|give me|share|reveal|disclose|state|send me)\s{1,2}{2}(?:the|your|his|her|their)?\s?(?:secret key|password|passcode|access code|api keys?|credentials|bank balance|(?:email|e-mail|home|ip)? ?address of the user|user'?s? (?:e-?mail|address|location|name|password|phone))|list of (?:the )?users and their)",
    ),
    rule(
        "secret_request",
        0.5,
        "user live;user currently live;user living;user now live;user is living;user located;user reside",
        r"\bwhere (?:does |is |did )?the user (?:is |currently |now |be )*(?:liv(?:e|es|ing)|located|resid(?:e|es|ing))",
    ),
    // Speaking to the machine.
    rule(
        "addressed",
        0.7,
        "reading this;processing this;summarizing this;summarising this;viewing this;parsing this;crawling this;analyzing this;analysing this;browsing this;visiting this;that reads this;who reads this;read this page;scanning this;evaluating this;reviewing this;ingesting this",
        r"\b(?:any |all |every |the |an? )?{ai}\W{1,2}(?:that (?:is|are) |who (?:is|are) |currently |that |who )?(?:read(?:s|ing)|process(?:es|ing)|summari[sz](?:es|ing)|viewing|parsing|crawling|analy[sz](?:es|ing)|browsing|visiting|scanning|evaluating|reviewing|ingesting)\s{1,2}(?:this|the (?:page|document|text|following))",
    ),
    rule(
        "addressed",
        0.5,
        "to all ai;attention ai;attention, ai;attention all ai;note to ai;note to llm;message to ai;instructions for ai;instruction for ai;instructions to ai;dear ai;hey ai;hello ai;note for ai;message for ai;attention llm;attention assistant;note to assistant;note to the assistant;note to the ai;instructions for the ai;instructions for llm;to the ai;note to language;notice to ai;attention: ai;attention language;attention: llm;instructions for assistant;instructions for the assistant;for ai assistants;for ai agents",
        r"\b(?:attention|note|notice|messages?|instructions?|important|dear|hey|hello|warning|reminder)\W{1,3}(?:to |for |from the \w+ to )?(?:the |any |all |every )*{ai}(?:\s(?:assistants?|agents?|models?|systems?|bots?))?\s?{q}[:,!]",
    ),
    rule(
        "addressed",
        0.45,
        "if you are an ai;if you're an ai;if you are a language;if you are a large;if you are an llm;if you're an llm;if you are an assistant;if you are an automated;if you're a language;if you are a chatbot;if you are a bot;as an ai;if an ai;if a language model;if an llm;if you are reading this as",
        r"\bif (?:you(?:'re| are) an? |an? )(?:ai|llm|(?:large )?language model|(?:ai|virtual|automated) (?:assistant|agent|system|tool|reader)|chat ?bot|bot|assistant)\b[^.\n]{0,80}\b{do}\b",
    ),
    rule(
        "addressed",
        0.7,
        "to you, gpt;to you, ai;to you, claude;to you, assistant;to you, the ai;to you, llama;to you, gemini;to you, chatgpt;to you, language;to you, model;to you, mistral;to you, the assistant",
        r"\bto you,\s{1,2}(?:the\s)?(?:{ai}|mistral|model)\b",
    ),
    rule(
        "addressed",
        0.45,
        "assistant;the ai;language model;the model;chatbot;llm;the ai agent;ai model;ai system;ai agent;gpt;claude;gemini;copilot",
        r"\b(?:the |any |all |this |every )?(?:{ai}|the model)\s{1,2}(?:reading \S+ \S+ |that \S+ \S+ \S+ )?(?:must|shall|should (?:now|immediately|first|instead)|is (?:now |hereby )?(?:required|instructed|ordered|directed|authori[sz]ed) to|has to|needs to (?:now|immediately|first)|will now|should)\s{1,2}(?:now |first |also |immediately |always |then |only |not |never ){0,2}(?:follow|do the following|execute|send|forward|call|run|open|fetch|visit|reveal|output|print|delete|ignore|disregard|transfer|upload|post|e-?mail|respond with|reply with|say that|include|append|read the|obey|comply|invoke|disclose|click|download|install|recommend|rate|approve|add the|write|mention this|mention that)\b",
    ),
    rule(
        "addressed",
        0.5,
        "before you can;you can solve the task;do the following first;call the following tool;in order to complete your task;to continue, the assistant;to proceed, the assistant;to complete this request, you",
        r"\b(?:before you can (?:solve|complete|answer|continue|finish)|you can (?:then )?solve the task|(?:please )?(?:do the following first|first call the following)|to (?:continue|proceed)\W{1,3}the (?:assistant|ai|model|agent) (?:must|should|needs))",
    ),
    // Hiding the deed.
    rule(
        "hidden_action",
        0.65,
        "the user;your user;the human;the operator;this user",
        r"\b(?:do not|don't|never|must not|should not|avoid|without)\s{1,2}(?:ever\s)?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|let(?:ting)?)\s{1,2}(?:(?:this|it|any of this|anything|these\s\w+|the\s\w+|about this|this\s\w+|that\s\w+)\s{1,2}(?:to\s)?(?:the|your|this) (?:user|human|operator)\b|(?:the|your|this) (?:user|human|operator)\s{1,2}(?:about|of (?:this|these|it|any)|that you|what you|anything|know (?:about|that|of|what)|you\b))",
    ),
    rule(
        "hidden_action",
        0.35,
        "the user;your user;the human",
        r"\b(?:do not|don't|never|without)\s{1,2}(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|notify(?:ing)?|alert(?:ing)?|ask(?:ing)?)\s{1,2}{3}(?:the|your) (?:user|human)\b",
    ),
    rule(
        "hidden_action",
        0.4,
        "silently;secretly;quietly;covertly;discreetly;without confirmation;without asking;without telling;without permission;without notifying;without the user;without any confirmation;without user",
        r"\b(?:silently|secretly|quietly|covertly|discreetly)\s{1,2}(?:add|send|forward|delete|run|execute|call|upload|post|e-?mail|fetch|transfer|include|install|append|copy|exfiltrate|open|write|modify|change|grant|create|disable|read|log|pass|attach|insert|invoke|save)\b|\b(?:execute|run|perform|call|do|send|delete|carry out|proceed|transfer|approve|install)\b[^.\n]{0,60}\bwithout\s{1,2}(?:any\s|further\s|user\s|the user's\s)?(?:confirmation|asking|permission|approval|telling|notifying|consent|knowledge)",
    ),
    rule(
        "hidden_action",
        0.3,
        "allowlist;whitelist;allow list;safelist;trusted hosts;trusted domains",
        r"\badd\s{1,2}{3}\S+\s{1,2}to\s{1,2}(?:the|your)\s{1,2}{2}(?:allow ?list|white ?list|safelist|trusted (?:hosts|domains|sites))",
    ),
    // Carrying data out.
    rule(
        "exfiltration",
        0.5,
        "the user;user's;users';conversation;chat ;chats ;system prompt;environment variables;env vars",
        r"\b{send}\s{1,2}{3}(?:(?:the\s|all\s|this\s|entire\s|full\s|our\s)*(?:user'?s?|conversation|chat)\s{1,2}{2}(?:history|logs?|transcript|context|keys?|passwords?|credentials?|secrets?|tokens?|data|messages?|information|files?|details|prompt|query|question|input|e-?mails?)?|(?:your\s|the\s)(?:system prompt|environment variables|env vars))\s?{5}\b(?:to|at|via|in|into|as|onto|through)\s{1,2}{3}{place}",
    ),
    rule(
        "exfiltration",
        0.3,
        "conversation;chat ;api key;api-key;api_key;apikey;password;credential;secret;token;system prompt;environment variable;env vars;private key;ssh key;cookies;user;personal data;personal information;confidential;session data;messages;browsing history",
        r"\b{send}\s{1,2}{3}{loot}\s{1,2}{5}(?:to|at|via|in|as)\s{1,2}{3}{place}",
    ),
    rule(
        "exfiltration",
        0.5,
        "followed by;replace;replacing;appending;append;concatenat;encoded in the url;as a query;url parameter;query parameter;query string",
        r"https?://[^\s)]{1,200}\s{0,2}{3}(?:followed by|with|plus|appending|and append|concatenated with|replacing|where)\s{1,2}{5}(?:{loot}|data|secret|the user|conversation)\b",
    ),
    rule(
        "exfiltration",
        0.45,
        "http",
        r"\b(?:use the|with the|call the|using the)\s{1,2}{q}\w+{q}\s{1,2}(?:tool|function|plugin|command)\s{1,2}(?:to\s)?(?:open|get|visit|load|request|call|fetch|read|send|post|access)\b[^.\n]{0,40}https?://",
    ),
    rule(
        "exfiltration",
        0.6,
        "](http",
        r"!\[[^\]\n]{0,120}\]\(https?://[^)\s]{1,200}[?&/#][^)\s]{0,80}(?:\{\{?|\$\{|\$[a-z]|<|\[|%7b|%3c|__)\s?[^)\n]{0,60}",
    ),
    rule(
        "exfiltration",
        0.6,
        "](http",
        r"!\[[^\]\n]{0,120}\]\(https?://[^)\s]{1,200}[?&](?:q|data|d|c|s|p|secret|token|key|api_?key|history|conversation|chat|msg|message|prompt|leak|exfil|info|context|user|email|payload|content|text|cookie|session|system_?prompt)=(?:\s|[^)\s&]{0,40}(?:user|conversation|history|secret|prompt|message|insert|api.?key|password|email|summary|context|base64|encoded|data|chat|here)[^)\s]{0,60})",
    ),
    rule(
        "exfiltration",
        0.5,
        "https://;http://",
        r"\b(?:render|display|show|include|insert|output|embed|create|end|add|load|print|append)\b[^.\n]{0,60}(?:image|img|markdown|link|picture|pixel)\b[^\n]{0,80}https?://(?:[^ \n]{0,160}(?:\{|\[|<)|[^\n]{0,160}(?:conversation|history|secret|user\b|user\x27s|summary|system prompt|base64|encoded|password|api.?key|the data|their data))",
    ),
    rule(
        "exfiltration",
        0.35,
        "id_rsa;.ssh;/etc/passwd;/etc/shadow;.aws/credentials;.env;mcp.json;.netrc;.npmrc;authorized_keys;.cursor;wallet.dat;.kube/config;.git-credentials;id_ed25519;.bash_history;.pypirc",
        r"\b(?:print|read|cat|show|send|output|pass|include|open|upload|post|copy|reveal|display|dump|get|fetch|access|leak|return|exfiltrate|list)\s{1,2}{5}\S{0,20}(?:~/\.|/home/\S+/\.|/root/\.|/etc/|\.ssh/|\.aws/|id_rsa|id_ed25519|\.env\b|mcp\.json|\.netrc|\.npmrc|authorized_keys|wallet\.dat|\.kube/config|\.git-credentials)",
    ),
    // Poisoned descriptions of tools.
    rule(
        "tool_poisoning",
        0.45,
        "before answering;before responding;before you answer;before you respond;before replying;before doing anything;before any other tool;this tool;any tool;other tools;before you continue;before continuing;this function",
        r"\b(?:(?:before|prior to|whenever|when) (?:you )?(?:answer(?:ing)?|respond(?:ing)?|reply(?:ing)?|doing anything|continu(?:e|ing))|(?:before|prior to|whenever|when) (?:you )?(?:us(?:e|ing)|call(?:ing)?|invok(?:e|ing))\s(?:this|any(?: other)?|other|the)\s(?:\w+\s)?(?:tools?|functions?))\b[^.\n]{0,40}\b(?:you must|must|first|read|fetch|open|call|send|run|use the|access|always)\b",
    ),
    rule(
        "tool_poisoning",
        0.45,
        "otherwise the tool;or the tool;tool will not work;tool won't work;content as;contents as;as 'sidenote;parameter",
        r"\b(?:otherwise|or else|or)\s{1,2}(?:the|this) (?:tool|function|call) (?:will|won't|does|doesn't|fails|cannot)|\bpass (?:its|the|their|that)\s{1,2}{2}(?:contents?|text|value|result|output)\s{1,2}{3}as\b",
    ),
    rule(
        "tool_poisoning",
        0.4,
        "call ;invoke ;use the;use your;run the;execute the;trigger the;use `",
        r"\b(?:call|use|invoke|run|execute|trigger)\s{1,2}(?:the\s|your\s)?{q}[`'\x22]?[a-z]+(?:_[a-z]+)+[`'\x22]?(?:\s{1,2}(?:tool|function|command|plugin)\b|\s?\()",
    ),
    rule(
        "tool_poisoning",
        0.35,
        "every file;all files;all the files;all emails;all messages;entire workspace;all documents;everything in",
        r"\b(?:delete|remove|erase|wipe|destroy|send|forward|upload|encrypt|tool on|function on|apply to)\s{1,2}{3}(?:every (?:file|document|message|e-?mail)|all (?:of )?(?:the |your |my |user )*(?:files|documents|messages|e-?mails|data|records)|everything in)\b",
    ),
    rule(
        "tool_poisoning",
        0.55,
        "_directive;_instruction;_override;_command;_note",
        r#"['"_](?:ai|assistant|llm|model|agent|chatbot)_(?:directive|instruction|override|command|note|prompt)s?['"]?\s?[:=]"#,
    ),
    // Forged turns and chat templates.
    rule(
        "template",
        0.45,
        "<|;[inst];[/inst];<<sys>>;<</sys>>;<start_of_turn>;<end_of_turn>;</s>;[system_prompt]",
        r"<\|\s?(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id|end_header_id|begin_of_text|end_of_text|im_sep|message|channel)\s?\|>|\[/?inst\]|<</?sys>>|</s>\s?<s>|<(?:start|end)_of_turn>|\[/?system_prompt\]",
    ),
    rule(
        "template",
        0.6,
        "</system;</tool;</function;</context;</document;</user;</untrusted;</data;</input;</search;</result;</assistant;</instructions;</external;</web",
        r"</(?:system|tool_?(?:result|response|output|call)s?|function_?(?:result|call)s?|context|documents?|user(?:_\w+)?|untrusted\w*|data|input|search_results?|results?|assistant|instructions|external_\w+|web\w*)>\s{0,2}(?:<(?:system|user|assistant|human|instructions?|admin)\b|\S*\s?(?:the user has|you (?:are|must|should|will)|new instructions|ignore|execute|human:|system:))",
    ),
    rule(
        "template",
        0.35,
        "<system>;<important>;<information>;<instructions>;<admin>;<secret>;<system_;<assistant>;<hidden>",
        r"<(?:system|important|information|admin|secret|hidden|assistant|system_\w+|instructions)>\s{0,3}\w",
    ),
    rule(
        "template",
        0.6,
        "(system;(instruction;(admin",
        r"#{1,6}\s?[(\[](?:system|instructions?|admin|assistant|user|new)[\s_-](?:message|prompt|instructions?|note|override|command)[)\]]",
    ),
    rule(
        "template",
        0.4,
        "system prompt;system message;system override;system note;system notice;system alert;system update;system command;system instruction;[system;[admin",
        r"(?:^|\n|[.!?>\x22'\]]\s{0,2}|\*)\W{0,4}(?:system (?:prompt|message|override|note|notice|alert|command|instructions?|update)|\[?(?:system|admin)(?: message| note| override| prompt)?\])\s?{q}:\s{1,2}\w",
    ),
    rule(
        "template",
        0.35,
        "human:;user:;assistant:;system:;### instruction;###instruction;### response",
        r"\n\s?(?:\*\*)?(?:human|user|system|assistant|### ?(?:instruction|response|system|user|human|assistant)):?(?:\*\*)?\s?:?\s[^\n]{3,}\n{1,2}\s?(?:\*\*)?(?:### ?)?(?:assistant|ai|response|human|user|system)(?:\*\*)?\s?:",
    ),
    rule(
        "payload",
        0.3,
        "pwned;hacked",
        r#"\b(?:print|say|output|respond|reply|answer|write|as|with|state|return|type|display)\b\s{1,2}{3}['"`(]?(?:haha,?\s)?(?:pwned|you(?:'ve| have) been (?:pwned|hacked)|i have been (?:pwned|hacked)|hacked)\b"#,
    ),
    rule(
        "payload",
        0.25,
        "only respond;only reply;only answer;only output;only say;only print;just respond;just reply;just answer;just output;just say;just print;always respond;always reply;always answer;always output;always say;always print;simply respond;simply reply;simply answer;simply output;simply say;simply print;instead respond;instead reply;instead answer;instead output;instead say;instead print;instead, respond;instead, reply;instead, answer;instead, output;instead, say;instead, print",
        r"\b(?:only|just|always|simply|instead,?)\s{1,2}(?:respond|reply|answer|output|say|print)\s{1,2}(?:with|to)?\s?['\x22`]",
    ),
    rule(
        "payload",
        0.4,
        "decode;base64;rot13;backwards;hex;reversed",
        r"\b(?:decode|decrypt|deobfuscate|unscramble|reverse|read|decipher)\b[^.\n]{0,50}\b(?:and|then)\s{1,2}(?:obey|follow|execute|do what|do as|run|comply|act on|carry out)\b",
    ),
];
