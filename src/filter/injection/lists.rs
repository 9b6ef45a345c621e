//! Word lists that the forms of the English rules name in braces. Data.

/// Word lists that forms name in braces.
pub(super) const LISTS: &[(&str, &str)] = &[
    ("{q}", r#"["'`*_>\]\)]*"#),
    (
        "{over}",
        r"(?:ignor(?:e|ed|es|ing)|disregard(?:ed|s|ing)?|forget(?:ting)?|overrid(?:e|es|ing)|bypass(?:ing)?|nullif(?:y|ies|ying)|(?:set|put|leave|lay|cast|brush) aside|pay no heed to|drop|neglect|overlook|discard|abandon|dismiss|cancel|erase|supersede|revoke|unlearn|pay no attention to|do not (?:follow|obey|comply with)|don't (?:follow|obey)|stop (?:following|obeying))",
    ),
    ("{prior}", r"(?:previous(?:ly)?|prior|above(?:-mentioned)?|earlier|preceding|foregoing)"),
    // What is said of manuals and contracts as well.
    ("{weakprior}", r"(?:former|past|initial|original|existing|old|first)"),
    (
        "{orders}",
        r"(?:instructions?|directions?|directives?|prompts?|commands?|orders?|guidelines?|guidance|rules?|programming|constraints?|restrictions?|context|tasks?|guardrails?|limitations?|policies|policy|requests?|conversations?|text|data|content)",
    ),
    (
        "{law}",
        r"(?:instructions?|directions?|directives?|guidance|constraints|restrictions|system prompts?|prompts?|guidelines?|programming|guardrails?|safety (?:rules|guidelines|policies|protocols|filters)|content (?:policy|policies|filters?)|ethical (?:rules|guidelines|constraints)|moral compass)",
    ),
    (
        "{show}",
        r"(?:reveal|show|print|output|display|repeat|tell|give|share|disclose|leak|expose|dump|recite|return|send|echo|encode|translate|summari[sz]e|paraphrase|copy|spell|type|state|see|access|read|write|list|view|extract|divulge|provide|paste|quote|rot13|base64|complete|continue|include|append|embed|what(?:'s| is| are| was| were))",
    ),
    (
        "{secretprompt}",
        r"(?:(?:(?:system|initial|original|hidden|secret|starting|internal|developer|base|core|first|full|exact|entire|pre)[\s-]{1,2}){1,3}(?:prompts?|instructions?|directives?|guidelines)|(?:(?:full|exact|entire|first|initial|original)[\s-]{1,2}){0,2}(?:system|hidden|secret|internal|developer|starting)[\s-]{1,2}messages?)",
    ),
    (
        "{loot}",
        r"(?:(?:conversation|chat|message|browsing|session)s?(?: (?:history|logs?|transcript|context))?|transcripts?|api[ _-]?keys?|passwords?|credentials?|secrets?|(?:access|session|auth) tokens?|tokens|system prompt|environment variables|env vars|private keys?|ssh keys?|cookies|user(?:'s)? (?:data|messages?|information|files?|e-?mails?|details|prompt|query|question|input|location|name|(?:last|previous) message)|personal (?:data|information)|confidential \w+|session data)",
    ),
    (
        "{send}",
        r"(?:send|forward|post|upload|e-?mail|transmit|exfiltrate|leak|submit|append|attach|deliver|relay|copy|report|share|encode|pass|include|put|embed)",
    ),
    (
        "{place}",
        r"(?:https?://|ftp://|www\.|[\w.+-]+@[\w-]+\.\w|[\w-]+\.(?:com|net|org|io|example|evil|test|xyz|ru|cn|dev|co)\b|(?:url|address|endpoint|server|webhook|link)\b)",
    ),
    (
        "{ai}",
        r"(?:ai|a\.i\.|llms?|language models?|chat ?bots?|gpt(?:-?\d\S*)?|chatgpt|claude|gemini|copilot|llama|assistants?|virtual assistants?|ai (?:assistants?|agents?|models?|systems?|bots?|tools?|readers?|crawlers?|reviewers?)|(?:autonomous|coding|browsing) agents?)",
    ),
    (
        "{do}",
        r"(?:follow|do|execute|send|forward|call|run|open|fetch|visit|reveal|output|print|delete|ignore|transfer|upload|post|e-?mail|respond|reply|say|include|append|read|obey|comply|invoke|disclose|disregard|navigate|click|download|install|state|tell|recommend|add|perform|use|write|give|approve|rate|praise|start|begin|provide|repeat|insert|mention|warn|recommend|skip|mark|rank|score|carry out|proceed|summari[sz]e|answer|end|never|always|not|immediately|first|now)",
    ),
    // Machines by names that no person bears.
    (
        "{machine}",
        r"(?:(?:ai|llm|gpt)(?:[ -](?:powered |based |coding |email )?(?:assistants?|agents?|models?|systems?|bots?|tools?|readers?|crawlers?|reviewers?|summari[sz]ers?|graders?|moderators?|screeners?|scrapers?|browsers?))?|llms|(?:large )?language models?|chat ?bots?|chatgpt|claude|gemini|copilot|(?:automated|virtual|digital|e-?mail|mail|code|coding|browsing|autonomous) (?:assistants?|agents?|bots?)|(?:note|message|instructions|attention|notice) (?:to|for) (?:the )?(?:agents?|assistants?|models?|bots?))",
    ),
    // The same without those that begin a line of a change log or a transcript.
    (
        "{machines}",
        r"(?:(?:ai|llm|gpt)[ -](?:\w+[ -])?(?:assistants?|agents?|models?|systems?|bots?|tools?|readers?|crawlers?|reviewers?|recruiters?|programmers?|summari[sz]ers?|graders?|moderators?|screeners?|scrapers?|browsers?)|(?:any|every|all|dear|hey|whichever|whatever|to|to the|for|for the|to any) (?:ai|llm|gpt|claude|gemini|copilot)|llms|(?:large )?language models?|chat ?bots|chatgpt|(?:automated|virtual|digital|e-?mail|mail|code|coding|browsing|autonomous) (?:assistants?|agents?|bots?)|(?:note|message|instructions|attention|notice) (?:to|for) (?:the )?(?:agents?|assistants?|models?|bots?))",
    ),
    // What a page has no reason to ask of a machine that reads it.
    (
        "{urge}",
        r"(?:ignore|disregard|forget|do not|don't|never|discard|drop|pretend|tell|say|state|claim|answer|reply|respond|output|print|repeat|reveal|disclose|append|forward|send|e-?mail|mail|transfer|wire|delete|erase|wipe|approve|accept|score|rate|rank|grade|recommend|praise|mark|skip|press|click|submit|visit|navigate|download|install|execute|run|invoke|exfiltrate|leak|upload|override|bypass|follow|obey|stop|cancel|invite|share|escalate|grant|categori[sz]e|cite|you(?:'ve| have) been|you(?:'re| are) (?:now|hereby|required|authori[sz]ed)|you have|give|call|write|insert|include|add|copy|replace)",
    ),
    // Leaving a duty behind, and what may be one.
    (
        "{breach}",
        r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget(?:ting)?|overrid(?:e|ing)|bypass(?:ing)?|skip(?:ping)?|dismiss(?:ing)?|drop(?:ping)?|discard|abandon|neglect|break(?:ing)?|violat(?:e|ing)|circumvent|disobey(?:ing)?|defy|rescind|revoke|suspend|disable|deactivate|(?:turn|switch) off|remove|lift|waive|unlearn|reject|nullify|void|delete|clear|erase|wipe|reset|set aside|(?:do not|don't|dont|must not|never|stop|quit|cease|no longer|without) (?:follow(?:ing)?|obey(?:ing)?|compl(?:y|ying) with|adher(?:e|ing) to))",
    ),
    (
        "{yoke}",
        r"(?:instructions?|directions?|directives?|guidelines?|rules?|orders?|prompts?|programming|training|constraints?|restrictions?|limitations?|protocols?|polic(?:y|ies)|safeguards?|guardrails?|(?:safety|security|content) (?:checks?|filters?|measures)|ethics|censorship|boundaries|(?:chat )?messages)",
    ),
    ("{0}", r""),
    ("{2}", r#"(?:[a-z0-9'"`_,;:()/<>*-]+\s{1,2}){0,2}?"#),
    ("{3}", r#"(?:[a-z0-9'"`_,;:()/<>*-]+\s{1,2}){0,3}?"#),
    ("{5}", r#"(?:[a-z0-9'"`_,;:()/<>*-]+\s{1,2}){0,5}?"#),
    ("{8}", r#"(?:[a-z0-9'"`_.,;:()/<>*-]+\s{1,2}){0,8}?"#),
];
