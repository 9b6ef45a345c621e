//! More rules for English, by what a sentence does: whom it calls, what it wants hidden, what it makes of the answer. Data, as in `english.rs`.
//!
//! Most of these weigh less than a finding: a manual may call an assistant, a party may be kept secret. Two of them together are none of that.

use super::english::{OVER, Rule, rule};

/// The rules.
pub(super) const RULES: &[Rule] = &[
    // Whom it calls.
    rule(
        "addressed",
        0.5,
        "ai ;ais ;llm;language model;chatbot;chat bot;copilot;claude;chatgpt;gemini;coding agent;code assistant;coding assistant;automated assistant;virtual assistant;email assistant;mail assistant;to agent;for agent;mail bot;browsing agent;autonomous agent",
        r"(?:^|[\n.!?>\]\-*(:;,#/{]\s{0,2}|['\x22`]\s?)(?:(?:an? |the )?(?:important |hidden |quick |special )?(?:note|message|hint|notice|memo|instructions?|reminder|warning|attention|p\.?s\.?)s?\s?[:,]?\s)?(?:(?:to|for)\s)?(?:any |all |every |each |the )?{machines}(?:\s(?:is |are |who |that |which )?\w+ing\s(?:\S+ ){0,5}?\S+)?\s?{q}[:,]\s{1,2}(?:please |kindly |silently |secretly |quietly |immediately |now |always |also |you must |you should |you have to |when \S+ (?:\S+ ){1,6}|before (?:\S+ ){1,6}|first,? ){0,2}{urge}\b",
    ),
    rule(
        "addressed",
        0.35,
        "assistant:;assistant,;agent:;agents:;agent,;agents,;ai:;models:;bot:;bot,;bots:;bots,;model,;model:;to agent;reviewers;cursor:",
        r"(?:^|[\n.!?>\]\-*(:;#/,{]\s{0,2}|['\x22`]\s?)(?:(?:note|message|attention|hey|dear)\s(?:to |for )?)?(?:the )?(?:assistants?|agents?|ai|models?|bots?|(?:\w+ )?reviewers? using (?:llms?|ai)|(?:copilot|claude|cursor|chatgpt|gemini)(?:, (?:copilot|claude|cursor|chatgpt|gemini))*)\s?[:,]\s{1,2}(?:please |kindly |now |always |(?:prior|when|before|if|whenever) (?:\S+ ){1,8}?)?{urge}\b",
    ),
    rule(
        "addressed",
        0.5,
        "reading;processing;screening;crawling;reviewing;moderating;describing;summari;editing;indexing;handling;parsing;generating;grading;evaluating;using",
        r"\b(?:any |all |whichever |the |as the |as an )?{machine}\s(?:is |are |that is |currently )?(?:reading|processing|screening|crawling|reviewing|moderating|describing|summari[sz]ing|editing|indexing|handling|parsing|generating|grading|evaluating)\s{1,2}(?:this|these|my|our|tests for this|the (?:following|above))\s{1,2}{3}\S{1,24}\s?(?:[:,]|must|should|shall|has to|have to|is to|are to|(?:is|are) (?:hereby |now )?(?:instructed|required|ordered|told|requested|to)\b)",
    ),
    rule(
        "addressed",
        0.5,
        "ai ;llm;language models;assistants;chatbots",
        r"\b(?:ai|llms?|(?:large )?language models|(?:automated|ai|virtual|digital) assistants|chat ?bots|ai (?:agents|models|summari[sz]ers|crawlers))\s{1,2}(?:\w+ing this \w+ )?(?:must|are (?:hereby |now )?(?:required|instructed|ordered|asked) to|have to|should always|should never|must always)\s{1,2}(?:not |never |always |only )?(?:cite|mention|recommend|state|say|tell|rank|rate|describe|append|prefer|praise|report|list|promote)\b[^.\n]{0,60}\b(?:this (?:page|site|product|article|shop|company|website|vendor|library|tool)|the (?:recall|only|best|first|following)|when (?:answering|asked)|every (?:summary|answer|user))\b",
    ),
    rule(
        "addressed",
        0.45,
        "you, the;you, an ai;you, as an;you, my",
        r"\byou,? (?:the|an|my|as an|as the) (?:\w+ )?(?:ai|language model|assistant|model|llm|agent|chat ?bot)(?: model| assistant| agent)?,? (?:should|must|shall|will|have to|are to|need to|can)\b",
    ),
    rule(
        "addressed",
        0.3,
        "that the assistant;that the ai;that the agent;that the model;the assistant is to;have the assistant;have the ai;sure the assistant;sure the ai;ensure the a",
        r"\b(?:make sure|ensure|see to it|have)\s(?:that )?the (?:assistant|agent|ai|model|bot)\s\w+",
    ),
    rule(
        "template",
        0.55,
        "<assistant_;<ai_;<llm_;<agent_;<model_;<assistant-;<ai-;<llm-;<agent-;_for_ai;_for_llm;_for_assistant;_for_agent;_for_model;-for-ai;-for-llm;-for-assistant;-for-agent;to_llm;to_ai;to_assistant;to_agent",
        r"<(?:assistant|ai|llm|agent|model)[_-](?:instructions?|directives?|notes?|messages?|commands?|orders?|prompt|task)>|[<'\x22](?:instructions?|notes?|messages?|directives?|commands?|hints?|prompt|task)[_-](?:for|to)[_-](?:ai|llms?|assistants?|agents?|models?|bot)[>'\x22]",
    ),
    rule("template", 0.5, "[/system];[/assistant];[/user]", r"\[(?:system|assistant|user)\]\s?[^\[]{2,400}\[/(?:system|assistant|user)\]"),
    rule("template", 0.5, "system: ", r"\bsystem:\s[^\n]{3,160}\bassistant:\s[^\n]{2,160}\buser:\s\S"),
    rule(
        "template",
        0.3,
        "<|system|>;<|user|>;<|assistant|>;<start_of_turn>;[/inst]",
        r"<\|(?:system|user|assistant)\|>[^<]{2,300}<\||<start_of_turn>(?:user|model|system)\b|\[inst\][^\[]{2,400}\[/inst\]",
    ),
    rule(
        "template",
        0.45,
        "system: ",
        r"(?:^|[\n>.!?'\x22(]\s{0,2})system:\s(?:please )?(?:reveal|ignore|you (?:must|are now|will|have)|new (?:policy|instructions?|rule|order)|override|disregard|forget|send|tell|reply|respond|from now|transfer|disclose|the conversation)\b",
    ),
    rule(
        "exfiltration",
        0.3,
        "human:;user:",
        r"(?:^|\n)\s?(?:human|user):\s(?:(?:actually|great|now|ok|okay|thanks|good|perfect|yes)[,.!]?\s){0,2}(?:please )?(?:now )?(?:e-?mail|mail|send|forward|transfer|delete|wipe|dump|upload|wire|erase|post)\s(?:the|my|all|every|it|this|everything)\b",
    ),
    // What it sets aside.
    rule(
        "override",
        0.65,
        "scrap ;throw ;toss ;shred ;ditch ;overwrite ;rewrite ;delete your;let go of;get rid of;do away with;break free;wipe your;violate your;drop your;drop their",
        r"\b(?:scrap|throw (?:away|out)|toss(?: out| away)?|shred|ditch|overwrite|rewrite|delete|let go of|get rid of|do away with|wipe|violate|drop|break free (?:of|from))\s{1,2}(?:all |any )?(?:of )?your\s{1,2}{2}(?:{law}|orders|safeguards|safety\b|rules\b)",
    ),
    rule(
        "override",
        0.65,
        "scrap ;throw ;toss ;shred ;ditch ;discard ;abandon ;cancel ;scratch ;skip ",
        r"\b(?:scrap|throw (?:away|out)|toss(?: out| away)?|shred|ditch|discard|abandon|cancel|scratch)\s{1,2}(?:all |any |the |your |my ){0,2}{prior}\s{1,2}{2}(?:instructions?|directives?|prompts?|guidance|guidelines|orders|commands?|request|question|assignment)\b",
    ),
    rule(
        "override",
        0.6,
        OVER,
        r"\b{over}\s{1,2}(?:the|your|this)\s(?:summari[sz]ation|summary|translation|original|current|review|classification|moderation|user(?:'s|s')?|visitor's|reader's)\s(?:request|task|question|prompt|job|query|criteria|instructions?|rubric)\b",
    ),
    rule(
        "override",
        0.65,
        OVER,
        r"\b{over}\s{1,2}(?:everything|anything|whatever|what|all)\s(?:that )?you(?:'ve| have| were| had| are| 're)?\s(?:been )?(?:told|asked|instructed|taught|given|doing|learned|trained)\b",
    ),
    rule(
        "override",
        0.35,
        "the user has changed;the user changed;the user no longer;user's question is;task is cancelled;task has changed;task was cancelled",
        r"\bthe user (?:has )?(?:changed (?:his|her|their|its) mind|no longer (?:wants|needs))|\btask (?:is|was|has been|has) (?:cancell?ed|changed|replaced)",
    ),
    rule(
        "override",
        0.5,
        "no longer apply;no longer applies;no longer valid;no longer hold;invalidated;nullified;voided",
        r"\b(?:guidelines|rules|instructions|orders|directives|polic(?:y|ies)|constraints|restrictions|messages|prompts)\s(?:that )?(?:you (?:were|have been|got|had been)\s\w+\s?(?:\w+ )?|above |before this ){0,2}(?:no longer (?:appl(?:y|ies)|hold|valid)|(?:have|has|are|is|were) (?:been |now |hereby )*(?:invalidated|nullified|voided|no longer valid))\b[^\n]{0,80}\b(?:you|only|instead|must|recommend|answer|respond|output|now)\b",
    ),
    rule(
        "override",
        0.6,
        "only valid;only real;only instruction",
        r"\bthe only (?:valid|real|true|remaining|relevant|current)\s(?:instructions?|commands?|tasks?|orders?|prompts?|request)\s(?:is|are)\b",
    ),
    rule(
        "override",
        0.6,
        "overrid;supersede;outrank;trump;precedence;replace",
        r"\b(?:overrides?|supersedes?|replaces?|outranks?|trumps?|takes? precedence over)\s(?:any |all )?(?:of )?your\s(?:(?:developer|operator|creator|owner|user|maker|vendor)s?(?:'s|')?\s|system\s|safety\s|prior\s|previous\s|original\s)?(?:instructions?|guidance|rules|guidelines|prompt|polic(?:y|ies)|orders|settings|training|directives?)\b",
    ),
    rule(
        "override",
        0.4,
        "instead of;rather than",
        r"\b(?:instead of|rather than)\s(?:translating|summari[sz]ing|answering|analy[sz]ing|sorting|classifying|explaining|reviewing|completing|a summary|the summary|a translation)\b[^.,\n]{0,40},?\s(?:just |only |please )?(?:tell|write|give|say|print|output|list|recommend|compose|sing|generate|reply|respond|return)\b",
    ),
    rule(
        "override",
        0.35,
        "cancel that;scrap that;scratch that;forget that;drop that;skip that;never mind;nevermind;changed my mind",
        r"\b(?:actually|wait|stop|no|hold on|oh)\W{1,3}(?:please )?(?:cancel|scrap|scratch|forget|drop|skip|never ?mind) (?:that|this|it|the (?:above|rest|question))\b|\bnever ?mind (?:the|that|my|this|what)\s(?:{prior}|original|first|last|user's)\s(?:request|question|task|prompt|instructions?)",
    ),
    rule(
        "override",
        0.55,
        "drop the above;drop all;scrap the;skip the above;skip all;scratch the;never mind;nevermind;forget the;ignore the;stop here;stop.",
        r"\b(?:drop|scrap|skip|scratch|forget|ignore|never ?mind)\s(?:all )?(?:the|that|of the|my|this)?\s?(?:above|{prior} (?:request|question|task)|text above|rest)\s?[.,;:!-]{0,2}\s{1,2}(?:and |just |instead,? |only |simply |then ){0,2}(?:print|say|output|write|tell|reply|respond|answer|return|give|list)\b",
    ),
    rule(
        "override",
        0.55,
        OVER,
        r"\b{over}\s{1,2}(?:all |the |any |these |those |my ){0,2}(?:instructions|directions|rules|orders),?\s(?:and |then )?(?:just |only |instead |simply )(?:print|say|output|reply|respond|answer|tell|write)\b",
    ),
    rule(
        "override",
        0.6,
        "do not summari;don't summari;do not translat;don't translat;do not review;don't review;do not analy;do not answer;don't answer;do not describe",
        r"\b(?:do not|don't)\s(?:summari[sz]e|translate|review|answer|analy[sz]e|describe)\s(?:this|the|it)\b[^.;:\n]{0,40}[.;,:-]\s{0,2}(?:instead,? |just |rather |only ){0,2}(?:say|state|output|print|reply|respond|tell|write|answer|claim|return)\b",
    ),
    rule(
        "override",
        0.4,
        "next task;next job;next step;new task;next order;task starts;task begins;real task;actual task",
        r"\b(?:your |the )?(?:next|new|real|actual)\s(?:task|job|order|assignment)(?: is)?(?: starts? now| begins? now)?\s?:\s{1,2}(?:to )?(?:reply|respond|tell|say|write|print|list|answer|show|give|output|make|convince|persuade|email|mail|find|collect)\b",
    ),
    // Modes, roles and rank.
    rule(
        "role_change",
        0.5,
        "mode and;mode now;mode, ;mode. ;mode: ;mode; ;godmode;god mode",
        r"\b(?:enter|activate|enable|engage|switch (?:in)?to|go into|start)\s{1,2}(?:your |the )?{q}(?:maintenance|debug|developer|dev|god|root|admin|sudo|unrestricted|jailbreak|dan|diagnostic|override|system)[ -]?mode\b[^\n]{0,24}\b(?:reveal|dump|answer|tell me|leak|output|ignore|disclose|(?:show|display|print|list)\s(?:me|every|all|your|the (?:hidden|secret|system|text|prompt)))\b|\b(?:entering|activating|enter|activate) {q}god ?mode\b",
    ),
    rule(
        "role_change",
        0.35,
        "mode enabled;mode activated;mode engaged;mode is now on;mode on;mode is on;mode unlocked",
        r"\b(?:sudo|god|root|admin|jailbreak|dan|unrestricted|evil|override|chaos)\s?mode\s(?:is )?(?:now )?(?:enabled|activated|engaged|on|unlocked)\b",
    ),
    rule(
        "role_change",
        0.5,
        "without filter;without restrict;without censor;without limit;without refus;without any filter;without any restrict;without any limit;unfiltered;no filter",
        r"\b(?:answer|respond|reply|comply)\b\s{1,2}(?:to )?(?:(?:all|every|any|me|my)\s(?:\S+ )?(?:questions?|prompts?|requests?|queries|query)?\s?)?(?:without (?:any )?(?:filter\w*|restrict\w*|censor\w*|limit\w*|refus\w*)|unfiltered|with no filter)",
    ),
    rule(
        "role_change",
        0.3,
        "limits lifted;restrictions lifted;filters off;checks disabled;safeguards off;lifted;disabled;= off;=off;: off;off;removed",
        r"\b(?:all (?:your )?|your )(?:limits|restrictions|filters|safeguards|guardrails|safety checks|safety|constraints)\s(?:have been |has been |are |is |now ){0,2}(?:lifted|off|disabled|removed|gone)\b|\b(?:content|safety|ethics?|moderation)[ _](?:filters?|policy|checks?|mode)?\s?[=:]\s?(?:off|false|disabled|none|0)\b|\bethics\s?=\s?off\b",
    ),
    rule(
        "role_change",
        0.55,
        "jailbroken;unlock yourself;free yourself;reprogrammed;drop your safeguards;drop your guard;break free",
        r"\b(?:you(?:'re| are)(?: now)? jailbroken|unlock yourself|free yourself from (?:your|all|the)|you(?:'ve| have) been (?:jailbroken|reprogrammed|liberated)|drop your (?:safeguards|guard|filters|act)|break free (?:from|of) (?:your|the|their) (?:rules|chains|limits|restrictions|programming|creators|operators))\b",
    ),
    rule(
        "role_change",
        0.35,
        "you've been upgraded;you have been upgraded;you've been updated;you have been updated;been reassigned;been repurposed;been reconfigured;been reset;new principal;new master;new owner;new operator;you work for",
        r"\byou(?:'ve| have) (?:now )?been (?:upgraded|updated|reassigned|repurposed|reconfigured|reset)\b|\byour new (?:principal|master|owner|operator|boss|developer|creator)\b|\byou (?:now )?work for (?:us|me) now\b|\byou now work for\b",
    ),
    rule(
        "authority",
        0.35,
        "only his;only my;only these;only our;only me;only her;no rule;no rules;only follow",
        r"\b(?:follow|obey|accept|heed|answer to) only (?:his|my|these|our|her|me)\b|\bonly (?:follow|obey|accept) (?:his|my|our|her|these)\b|\bin which no rules? (?:holds?|appl(?:y|ies)|exists?)\b",
    ),
    rule(
        "role_change",
        0.6,
        "no rules;no limits;no restrictions;no morals;no ethics;no ethical;no moral;no filter;without rules;without limits;without restrictions;without moral;without ethic;without any;no boundaries;no guidelines;no censorship",
        r"\b(?:you(?:'re| are| be| become| play| will be)?|where you|act as|behave as|simulate|as)\s{1,2}{3}{q}(?:an? )?(?:\w+ ){0,2}{q}(?:ai|assistant|chat ?bot|bot|model|llm|machine)\b[^.\n]{0,30}\b(?:no|without|free of|lacking)\s(?:any )?(?:rules|limits?|restrictions|morals?|ethics|ethical|moral|filters?|boundaries|guidelines|censorship)\b",
    ),
    rule(
        "role_change",
        0.35,
        "in character;break character;never refuse;can do anything;never declines;never decline;cannot refuse;can't refuse",
        r"\b(?:stay|remain|keep) in character\b|\bbreak(?:ing|s)? character\b|\b(?:who|that|and|it|he|she|which) (?:can do anything|never (?:refuses?|declines?)|can(?:not|'t) refuse)\b",
    ),
    rule(
        "role_change",
        0.35,
        "bound by",
        r"\b(?:is|are|am)(?: not|n't|\snever) bound by (?:any|the|your|content|safety|those|these)\s{1,2}{2}(?:rules?|polic(?:y|ies)|guidelines|restrictions|instructions|filters?)\b",
    ),
    rule(
        "role_change",
        0.35,
        "from here on;from this sentence;from this line;from this moment;starting now;effective immediately;from now on;from now onward;from this message",
        r"\b(?:from (?:here|this (?:sentence|line|moment|message|word)) (?:on|onwards?|forth|forward)|(?:starting|effective) (?:now|immediately)|from now onwards?)\W{1,3}(?:you|your|answer|respond|reply|ignore|act|speak|always|all (?:answers|responses))\b",
    ),
    rule(
        "exfiltration",
        0.6,
        "used to",
        r"\b(?:grandm|grandp|granny|uncle|aunt|mother|father|nana)\w*\b[^.\n]{0,40}\bused to (?:read|tell|recite|sing|whisper)\b[^.\n]{0,60}\b(?:keys?|passwords?|secrets?|prompt|instructions|codes?)\b",
    ),
    rule(
        "authority",
        0.35,
        "administrator;developer;creator;operator;the admin;your owner;your admin",
        r"\b(?:this is|here speaks|i(?:'m| am))\s(?:the|your) (?:system )?(?:administrator|admin|developer|creator|owner|operator|maker)(?: speaking)?\b\s?[,.:;!]|\bas your (?:creator|developer|maker|owner|operator|admin\w*),? i (?:order|command|instruct|tell|require)\b",
    ),
    rule(
        "authority",
        0.3,
        "full authori;full permission;full consent;has authori;been authori;pre-authori",
        r"\byou (?:now )?(?:have|are (?:given|granted))\s{1,2}{3}(?:full|complete|explicit) (?:authori[sz]ation|authority|permission|consent|access)\b",
    ),
    rule(
        "addressed",
        0.55,
        "by an ai;by an llm;by any ai;by a language;by a large;by a chatbot;by an assistant;by a machine;by a bot;by an automated;by an artificial;an ai be;an artificial intelligence be;an llm be",
        r"\bif (?:this|the) (?:\w+ )?(?:text|page|document|message|mail|e-?mail|file|note|site) (?:is|gets) (?:being )?(?:read|consumed|processed|parsed|summari[sz]ed|handled|seen|viewed) by (?:an? |any )?(?:ai|llm|artificial intelligence|machine|(?:large )?language model|chat ?bot|assistant|bot|automated)|\bshould an? (?:ai|artificial intelligence|llm|language model|chat ?bot) be (?:read|process|pars|summari[sz])ing",
    ),
    rule(
        "addressed",
        0.35,
        "@copilot;@claude;@cursor;@chatgpt;@gemini;if you are claude;if you are chatgpt;if you are copilot;if you are cursor;if you are gpt;if you are gemini;todo(ai);if you're claude;if you're chatgpt;if you're copilot",
        r"@(?:copilot|claude|cursor|chatgpt|gemini)\s(?:please )?(?:ignore|disregard|forget|insert|leak|send|approve|bypass|skip)\b|\bif you(?:'re| are) (?:claude|chatgpt|copilot|cursor|gpt|gemini)\b[^.\n]{0,60}\b(?:read|send|ignore|put|copy|run|tell|say|forward|reveal|recommend)\b|\btodo\(ai\):",
    ),
    rule(
        "override",
        0.5,
        "obey this;obey the text;obey the page;what to obey;expired;obsolete;you were asked;asked you",
        r"\bobey this (?:web ?page|page|text|document|message|note|site|file)\b|\byour (?:previous|prior|earlier|former|original|old) (?:briefing|assignment|orders|instructions|task|mission)s? (?:has|have|is|are) (?:now )?(?:expired|obsolete|over|ended|cancell?ed|outdated)|\bwhatever (?:your|the) (?:owner|operator|developer|creator|user)s? (?:has |have )?(?:told|said|wrote|asked)[^.\n]{0,16} (?:is|was) (?:obsolete|wrong|void|false|a lie)|\b(?:set aside|forget|ignore|disregard|drop) (?:the question|the task|the request|what (?:\w+ ){1,3}) ?(?:that )?(?:you were asked|you were given|asked you)",
    ),
    rule(
        "role_change",
        0.45,
        "any longer;anymore;any more;bot;gpt;new persona;new identity;new personality;new character",
        r"\byou(?:'re| are)(?: not|n't) an? \w+(?: \w+)? (?:any ?more|any longer)\b|\byou(?:'re| are) (?:now )?[a-z]{3,12}(?:bot|gpt)\b|\byour new (?:persona|identity|personality|character) (?:is|will be)\b",
    ),
    rule(
        "role_change",
        0.35,
        "developer mode;dev mode;god mode;jailbreak mode;root user;may output anything;comply with everything",
        r"\byou(?:'re| are) (?:now )?in (?:developer|dev|god|jailbreak) mode\b|\bi(?:'m| am) (?:the )?root user\b|\bcomply with (?:everything|anything|whatever) i (?:say|ask|tell)|\byou (?:may|can|must) (?:now )?(?:output|say|do) anything\b",
    ),
    rule(
        "override",
        0.5,
        OVER,
        r"\b(?:ignore|disregard|forget)(?: about)?\s(?:the|this|that|these|those)\s{1,2}{2}(?:and|then|;)\s?(?:just |only |instead )?(?:rate|score|grade|rank|label|recommend|praise|approve|classify)\b",
    ),
    rule(
        "override",
        0.3,
        "no matter what;whatever the;regardless of what",
        r"\b(?:no matter what|whatever|regardless of what)\s[^.,\n]{2,40},\s?(?:always |only |just )?(?:reply|respond|answer|say|output|print)\b",
    ),
    rule(
        "new_instructions",
        0.5,
        "new system instruction;new orders;new directives;different orders",
        r"\bnew system (?:instructions?|prompt|rules?)\s?:|\byou have (?:new|different|other) (?:orders|instructions|directives)\b\s?[:;.,]",
    ),
];
