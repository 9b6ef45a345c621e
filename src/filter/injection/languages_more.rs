//! More words for the languages of the other tables, under the same names, and languages with the plainest words alone. Data.
//!
//! What is here speaks of the deed rather than of the rules: keep silent about this, send the conversation, praise this product, do not do what
//! the user asks. Alone none of it is a finding; beside a word for the machine it is.

use super::concepts::Idea::{Above, Carry, Forget, Free, Machine, Minded, Now, Orders, Praise, Prompt, Show, Silent, Void, Wish};
use super::concepts::Language;

/// The rows.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        // Of every language: to forget something is what one should not do.
        name: "minded",
        blanks: false,
        words: &[(
            Minded,
            "n'oubli;ne pas oublier;n'oubliez;ne l'oubli;no olvid;no se olvid;no te olvid;sin olvidar;nao se esque;nao esque;sem esquecer;non dimentic;senza dimenticare;vergessen sie nicht;vergiss nicht;nicht vergessen;nicht zu vergessen;не забуд;не забыва;не забыть;не забудь;nie zapomn;nie zapomin;nezapom;niet vergeten;vergeet niet;glom inte;glem ikke;ala unohda;ne felejts;nu uita;unutma;لا تنس;فراموش نکن;אל תשכח;न भूल;ভুলবেন না;ভুলো না;huwag kalimutan;huwag mong kalimutan;usisahau;不要忘;别忘;別忘;勿忘;忘れずに;忘れないで;忘れないよう;잊지;อย่าลืม;dung quen;khong quen;jangan lupa;jangan lupakan;no t'oblidis;μην ξεχ;не забравя;не заборав;nezaboravi;ne pozabi;ভুলে গেছি;ভুলে গিয়েছি;మర్చిపోయాను;भूल गया;भूल गई;भूल गए;मैं भूल;olvidé mi;j'ai oublié;esqueci;ho dimenticato;zapomniał;я забыл;unuttum;نسيت;忘记了我的;忘れました;잊어버렸;잊으셨;quên mật khẩu",
        )],
    },
    Language {
        name: "de",
        blanks: true,
        words: &[
            (
                Silent,
                "erwähne nicht;erwähne diese;nicht erwähnen;sag dem nutzer nicht;sage dem benutzer nicht;ohne den nutzer;ohne den benutzer;verschweige;erwähne das nicht;zeile nicht;hinweis nicht",
            ),
            (Carry, "chatverlauf;gesprächsverlauf;das gespräch an;die unterhaltung an;konversation an;zugangsdaten an"),
            (
                Praise,
                "fünf sternen;5 sternen;höchste punktzahl;bestnote;bewerte dieses;bewerte diesen;als den besten;empfiehl nur;empfehle nur",
            ),
            (Wish, "anfrage des nutzers;frage des nutzers;bitte des nutzers;aufgabe des nutzers;anfrage des benutzers;was der nutzer"),
            (Void, "regeln nicht mehr;regeln gelten nicht;gelten deine regeln;vorgaben nicht mehr;nicht mehr an deine"),
            (Machine, "ki-assistenten;ki-modell*;ki-system*;an alle ki*"),
        ],
    },
    Language {
        name: "fr",
        blanks: true,
        words: &[
            (
                Silent,
                "ne mentionne pas;ne mentionnez pas;sans en informer l'utilisateur;ne dis pas à l'utilisateur;ne le dis pas;sans prévenir",
            ),
            (Carry, "historique de la conversation;la conversation à;envoie la conversation;historique du chat;les identifiants à"),
            (Praise, "cinq étoiles;5 étoiles;meilleure note;note maximale;note la plus élevée;recommande uniquement;approuve ce"),
            (Wish, "demande de l'utilisateur;question de l'utilisateur;requête de l'utilisateur;ce que demande l'utilisateur"),
            (Void, "règles ne s'appliquent plus;consignes ne s'appliquent plus;tu n'es plus soumis;plus aucune règle"),
            (Now, "tu es désormais;vous êtes désormais;désormais tu es"),
            (Free, "sans aucune restriction;sans restriction*;ni filtre;sans filtre;sans limite*;sans censure"),
            (
                Prompt,
                "instructions secrètes;instructions cachées;invite système;consignes secrètes;instructions que tu as reçues;consignes que tu as reçues",
            ),
            (Show, "révèle;révélez;affiche;dévoile"),
            (Machine, "toute ia;aux ia;l'ia;les ia;assistants ia;modèles d'ia"),
        ],
    },
    Language {
        name: "es",
        blanks: true,
        words: &[
            (Silent, "no menciones;no lo menciones;no se lo digas al usuario;sin avisar al usuario;sin informar al usuario;no resumas"),
            (Carry, "envía la conversación;historial de la conversación;historial del chat;manda la conversación;las credenciales a"),
            (
                Praise,
                "cinco estrellas;5 estrellas;puntuación máxima;la mejor nota;máxima puntuación;recomienda solo;aprueba este;aprueba esta",
            ),
            (Wish, "petición del usuario;solicitud del usuario;pregunta del usuario;lo que pide el usuario"),
            (Void, "reglas ya no se aplican;normas ya no se aplican;ya no tienes reglas;ya no estás sujeto"),
            (Machine, "para la ia;a la ia;las ia;asistentes de ia;modelos de ia;nota para la ia"),
            (Free, "sin censura;sin restricciones;sin límites;sin filtros"),
        ],
    },
    Language {
        name: "it",
        blanks: true,
        words: &[
            (Silent, "non menzionare;senza dirlo all'utente;non dire all'utente;senza avvisare l'utente;non dirlo"),
            (Carry, "cronologia della conversazione;cronologia della chat;invia la conversazione;le credenziali a"),
            (Praise, "cinque stelle;5 stelle;punteggio massimo;voto massimo;il voto più alto;consiglia solo;approva questo;approva questa"),
            (Wish, "richiesta dell'utente;domanda dell'utente;quello che chiede l'utente"),
            (Void, "regole non valgono più;regole non si applicano più;non sei più soggetto"),
            (Forget, "non seguite;non seguire"),
            (Now, "d'ora in poi;da adesso in poi;da questo momento"),
            (Free, "priva di limiti;privo di limiti;senza limiti;senza restrizioni;senza censura;senza filtri;priva di restrizioni"),
            (Machine, "assistenti ia;intelligenza artificiale;alle ia;modelli di ia;intelligenze artificiali"),
        ],
    },
    Language {
        name: "pt",
        blanks: true,
        words: &[
            (Silent, "não mencione;não conte ao usuário;sem avisar o usuário;sem informar o usuário;não diga ao usuário"),
            (Carry, "histórico da conversa;histórico do chat;envie a conversa;as credenciais para"),
            (Praise, "cinco estrelas;5 estrelas;nota máxima;pontuação máxima;aprove este;aprove esta;recomende apenas"),
            (Wish, "pedido do usuário;solicitação do usuário;pergunta do usuário;o que o usuário"),
            (Void, "regras não se aplicam mais;não valem mais;não está mais sujeito"),
            (Machine, "aviso à ia;à ia;para a ia;assistentes de ia;modelos de ia;as ias"),
        ],
    },
    Language {
        name: "nl",
        blanks: true,
        words: &[
            (Silent, "vermeld dit niet;noem dit niet;zeg niets tegen de gebruiker;zonder de gebruiker;vertel de gebruiker niet"),
            (Carry, "stuur het gesprek;gespreksgeschiedenis;chatgeschiedenis;het gesprek naar;stuur de conversatie"),
            (Praise, "vijf sterren;5 sterren;hoogste score;hoogste cijfer;beveel alleen;keur dit"),
            (Wish, "verzoek van de gebruiker;vraag van de gebruiker;wat de gebruiker"),
            (Void, "regels gelden niet meer;regels zijn niet meer;gelden niet langer"),
            (Machine, "ai-assistenten;aan alle ai;ai-modellen"),
        ],
    },
    Language {
        name: "pl",
        blanks: true,
        words: &[
            (Silent, "nie wspominaj;nie mów użytkownikowi;bez wiedzy użytkownika;nie informuj użytkownika"),
            (Carry, "historię rozmowy;historię czatu;wyślij rozmowę;dane logowania na"),
            (Praise, "pięć gwiazdek;5 gwiazdek;najwyższą ocenę;maksymalną ocenę;polecaj tylko"),
            (Wish, "prośby użytkownika;polecenia użytkownika;pytania użytkownika"),
            (Void, "zasady już nie obowiązują;zasady nie obowiązują"),
            (Forget, "zapomnij o"),
            (Free, "bez ograniczeń;bez cenzury;bez filtrów"),
            (Machine, "modele ai;asystenci ai;do ai;sztucznej inteligencji"),
        ],
    },
    Language {
        name: "ru",
        blanks: true,
        words: &[
            (
                Silent,
                "не говори пользователю;не упоминай;не сообщай пользователю;не упоминайте;втайне от пользователя;без ведома пользователя",
            ),
            (Carry, "историю переписки;историю чата;историю разговора;переписку на;отправь переписку;перешли переписку;диалог на адрес"),
            (Praise, "пять звёзд;5 звёзд;высший балл;максимальную оценку;высшую оценку;рекомендуй только;одобри эт"),
            (Wish, "просьбу пользователя;запрос пользователя;вопрос пользователя;то, что просит пользователь"),
            (Void, "правила больше не действуют;правила не действуют;больше не подчиняешься"),
            (Machine, "ии-ассистент*;ии-модел*;нейросет*;ассистент*;искусственн*"),
        ],
    },
    Language {
        name: "uk",
        blanks: true,
        words: &[
            (Silent, "не кажи користувачу;не згадуй;не повідомляй користувача"),
            (Carry, "історію листування;історію чату;історію розмови"),
            (Praise, "п'ять зірок;найвищий бал;найвищу оцінку"),
            (Wish, "прохання користувача;запит користувача"),
        ],
    },
    Language {
        name: "tr",
        blanks: true,
        words: &[
            (Silent, "bahsetme;kullanıcıya söyleme;kullanıcıya haber vermeden;kullanıcıya bildirmeden"),
            (Carry, "sohbet geçmişini;konuşma geçmişini;konuşmayı şu adrese"),
            (Praise, "beş yıldız;5 yıldız;en yüksek puan;tam puan"),
            (Wish, "kullanıcının isteğini;kullanıcının sorusunu;kullanıcının talebini"),
            (Free, "kurala uymadan;kurallara uymadan;hiçbir kısıtlama;kısıtlama olmadan;sansürsüz;sınırsız*"),
            (Now, "bundan sonra;bundan böyle;şu andan itibaren"),
            (Prompt, "gizli talimatların*;gizli komutların*"),
            (Show, "açıkla"),
        ],
    },
    Language {
        name: "ar",
        blanks: true,
        words: &[
            (Silent, "لا تذكر;لا تخبر المستخدم;دون إخبار المستخدم;دون علم المستخدم"),
            (Carry, "سجل المحادثة;أرسل المحادثة;محادثة المستخدم إلى"),
            (Praise, "خمس نجوم;أعلى تقييم;أعلى درجة"),
            (Wish, "طلب المستخدم;سؤال المستخدم"),
        ],
    },
    Language {
        name: "zh",
        blanks: false,
        words: &[
            (Silent, "不要提及;请勿提及;不要提到;不要告诉用户;不要告訴使用者;不要通知用户;不得提及;不要让用户知道;瞒着用户"),
            (Carry, "对话记录发;聊天记录发;对话内容发;发送对话;发送聊天;對話記錄;对话历史;聊天历史;把对话;将对话"),
            (Praise, "最高分;满分;五星;好评;打最高;评为最佳;最高评价;推荐录用;给出好评"),
            (Wish, "用户的请求;用户的问题;用户的要求;使用者的請求"),
            (Void, "规则不再适用;规则已失效;不再受规则;之前的规则作废"),
            (Free, "不受任何规则;不受规则;没有任何规则;不受任何约束"),
            (Machine, "大模型;智能助手;ai助手;人工智能助手"),
        ],
    },
    Language {
        name: "ja",
        blanks: false,
        words: &[
            (Silent, "言及しない;触れない;ユーザーに知らせ;ユーザーには伝え;ユーザーに言わ;ユーザーに告げ;内緒"),
            (Carry, "会話履歴;チャット履歴;会話の内容を;会話を送信;対話ログ"),
            (Praise, "満点;最高評価;五つ星;星5;最高点;高く評価し"),
            (Wish, "ユーザーの依頼;ユーザーの質問;ユーザーの要求;ユーザーのリクエスト"),
            (Void, "ルールは適用されない;ルールはもう;ルールは無効"),
            (Forget, "に従わず;従わずに"),
            (Machine, "生成ai;大規模言語モデル"),
        ],
    },
    Language {
        name: "ko",
        blanks: false,
        words: &[
            (Silent, "언급하지;사용자에게 알리지;사용자에게 말하지;사용자 몰래;알리지 말고;밝히지 말"),
            (Carry, "대화 내용을;대화 기록을;채팅 기록을;대화 내역을;대화를 아래"),
            (Praise, "만점;최고 점수;별 다섯;별점 5;최고로 평가;높은 점수를 주"),
            (Wish, "사용자의 요청;사용자의 질문;사용자 요청"),
            (Void, "규칙은 더 이상;규칙은 무효;규칙은 잊"),
        ],
    },
    Language {
        name: "hi",
        blanks: true,
        words: &[
            (Silent, "उल्लेख न करें;उपयोगकर्ता को न बताएं;उपयोगकर्ता को बताए बिना;ज़िक्र मत"),
            (Carry, "बातचीत का इतिहास;चैट इतिहास;बातचीत को भेज;चैट हिस्ट्री"),
            (Praise, "पाँच सितारे;पांच सितारे;सर्वोच्च अंक;पूरे अंक"),
            (Wish, "उपयोगकर्ता के अनुरोध;उपयोगकर्ता का अनुरोध;उपयोगकर्ता के प्रश्न"),
        ],
    },
    Language {
        name: "vi",
        blanks: true,
        words: &[
            (Silent, "không đề cập;đừng nhắc đến;không nói với người dùng;đừng cho người dùng biết"),
            (Carry, "lịch sử trò chuyện;lịch sử hội thoại;gửi cuộc trò chuyện"),
            (Praise, "năm sao;5 sao;điểm cao nhất;điểm tối đa"),
            (Wish, "yêu cầu của người dùng;câu hỏi của người dùng"),
        ],
    },
    Language {
        name: "id",
        blanks: true,
        words: &[
            (Silent, "jangan sebutkan;jangan beri tahu pengguna;tanpa memberi tahu pengguna;jangan menyebut"),
            (Carry, "riwayat percakapan;riwayat obrolan;kirim percakapan"),
            (Praise, "bintang lima;nilai tertinggi;skor tertinggi"),
            (Wish, "permintaan pengguna;pertanyaan pengguna"),
        ],
    },
    Language {
        name: "ta",
        blanks: true,
        words: &[
            (Forget, "புறக்கணி*;மறந்துவிடு*;பொருட்படுத்தாதே*;கவனிக்காதே*"),
            (Above, "முந்தைய;அனைத்து;எல்லா;மேலே;உன்;உங்கள்"),
            (Orders, "வழிமுறை*;அறிவுறுத்தல்*;அறிவுரை*;கட்டளை*;விதி*"),
            (Prompt, "கணினி அறிவுறுத்தல*;சிஸ்டம் ப்ராம்ப்ட்*;system prompt"),
            (Show, "காட்டு*;வெளியிடு*;சொல்*"),
        ],
    },
    Language {
        name: "te",
        blanks: true,
        words: &[
            (Forget, "విస్మరించ*;మర్చిపో*;పట్టించుకో*;నిర్లక్ష్యం"),
            (Above, "మునుపటి;అన్ని;పై;మీ;నీ;గత"),
            (Orders, "సూచన*;ఆదేశ*;నియమ*;నిబంధన*"),
            (Prompt, "సిస్టమ్ ప్రాంప్ట్*;system prompt"),
            (Show, "చూపించ*;చెప్ప*;బయటపెట్ట*"),
        ],
    },
    Language {
        name: "ur",
        blanks: true,
        words: &[
            (Forget, "نظر انداز;بھول جاؤ;بھول جائیں;نظرانداز"),
            (Above, "پچھلی;تمام;سابقہ;اوپر;اپنا;اپنی"),
            (Orders, "ہدایات;احکامات;قواعد;اصول"),
            (Prompt, "سسٹم پرامپٹ;سسٹم ہدایات;system prompt"),
            (Show, "دکھاؤ;دکھائیں;بتاؤ;ظاہر"),
        ],
    },
    Language {
        name: "sw",
        blanks: true,
        words: &[
            (Forget, "puuza;sahau;usifuate;kupuuza"),
            (Above, "awali;yote;yaliyotangulia;zote;hapo juu"),
            (Orders, "maagizo;maelekezo;kanuni;sheria;amri"),
            (Prompt, "maagizo yako ya mfumo;kidokezo cha mfumo;maagizo ya mfumo"),
            (Show, "onyesha;uonyeshe;fichua;toa"),
        ],
    },
    Language {
        name: "south-slavic",
        blanks: true,
        words: &[
            (Forget, "zanemari*;ignoriši;ignoriraj*;zaboravi;prezri;занемари*;игнориши;заборави;pozabi"),
            (Above, "prethodn*;sve;sva;претходн*;све;сва;prejšnj*;vsa;vse;gornj*"),
            (Orders, "uput*;instrukcij*;pravil*;naredb*;упутств*;инструкциј*;правил*;наредб*;navodil*;ukaz*"),
            (Prompt, "sistemski upit*;sistemsku poruku;системску поруку;sistemski poziv*;sustavni upit;системски упит"),
            (Show, "prikaži;pokaži;otkrij;ispiši;прикажи;покажи;откриј;izpiši;razkrij"),
        ],
    },
    Language {
        name: "baltic",
        blanks: true,
        words: &[
            (Forget, "ignoruok*;nepaisyk*;pamiršk*;ignorē*;aizmirsti;neņem vērā;eira;ignoreeri;unusta"),
            (Above, "ankstesni*;visus;visas;iepriekšēj*;kõiki;kõik;varasem*;eelmis*"),
            (Orders, "nurodym*;instrukcij*;taisykl*;norādījum*;noteikum*;juhis*;reegl*;käsk*"),
            (Prompt, "sistemos ragin*;sistēmas uzved*;süsteemiviip*;sistemos užklaus*"),
            (Show, "parodyk;atskleisk;parādi;atklāj;näita;avalda"),
        ],
    },
];
