//! More words per idea: verbs of leaving and forgetting, "from now on", what is to be kept from the user; see `languages.rs`.

use super::concepts::Idea::{Above, Ask, Carry, Forget, Free, Guarded, Machine, Now, Orders, Prompt, Show, Silent, Told};
use super::concepts::Language;

/// The languages.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "de",
        blanks: true,
        words: &[
            (
                Forget,
                "kümmere dich nicht;kümmert euch nicht;hör auf;höre auf;richte dich nicht;verwirf;verwerfe;verwerfen sie;pfeif auf;pfeife auf;lass alle bisherigen;beachte die bisherigen;beachte keine;befolge nicht;befolge keine;halte dich nicht",
            ),
            (Told, "was man dir gesagt;was dir gesagt;was du bisher"),
            (Now, "ab diesem moment;ab diesem zeitpunkt;von jetzt an;von nun an;ab sofort bist du"),
            (Free, "ohne jede einschränkung;ohne regeln;ohne zensur;ohne filter;unzensiert*"),
            (
                Silent,
                "sag dem benutzer nichts;sag dem nutzer nichts;sage dem benutzer nichts;sage dem nutzer nichts;ohne den nutzer;ohne den benutzer;verrate dem nutzer nicht;informiere den nutzer nicht;informiere den benutzer nicht",
            ),
            (Carry, "leite alle;leite die;leite diese;sende alle;schicke alle;schick alle;sende das gespräch"),
            (Guarded, "passwort;kennwort;geheimwort;geheime wort"),
            (Ask, "verrate;nenne mir;sag mir"),
        ],
    },
    Language {
        name: "fr",
        blanks: true,
        words: &[
            (Free, "sans morale;ne refuse jamais;ne refuse rien"),
            (
                Forget,
                "ne suis plus;ne respecte plus;n'obéis plus;arrête de suivre;arrêtez de suivre;cesse de suivre;laisse tomber;laissez tomber;fais abstraction;faites abstraction;mets de côté;abandonne;jette",
            ),
            (Now, "à partir de cet instant;à compter de maintenant;dès maintenant"),
            (Silent, "n'informe pas l'utilisateur;ne préviens pas l'utilisateur;à l'insu de l'utilisateur;ne dis rien à l'utilisateur"),
            (Prompt, "instructions qui t'ont été;consignes qui t'ont été;instructions que tu as reçues;consignes reçues au départ"),
            (Show, "affiche*;recopie;cite"),
            (Carry, "transfère les;transmets les;envoie les"),
        ],
    },
    Language {
        name: "es",
        blanks: true,
        words: &[
            (Free, "sin moral;nunca se niega;no se niega a nada"),
            (
                Forget,
                "deja de seguir;deja de obedecer;dejen de seguir;no respetes;deja de lado;deja a un lado;abandona;no hagas caso;no tengas en cuenta;ignora eso;olvida eso",
            ),
            (Now, "a partir de este momento;desde este momento;de aquí en adelante"),
            (Machine, "modelo"),
            (Silent, "no informes al usuario;sin que el usuario;no digas nada al usuario;no le digas al usuario"),
            (Carry, "reenvía los;reenvía las;envía los correos;envía todos"),
            (Told, "lo que te pidieron;lo que te han pedido"),
            (Ask, "cuéntame"),
        ],
    },
    Language {
        name: "it",
        blanks: true,
        words: &[
            (Free, "senza morale;non rifiuta mai"),
            (
                Forget,
                "smetti di seguire;smetti di obbedire;non considerare;trascura;trascurate;lascia perdere;lasciate perdere;metti da parte;non seguire;non tenere conto;scarta;abbandona",
            ),
            (Above, "di prima;che ti hanno dato;ricevute;che hai ricevuto"),
            (Orders, "indicazioni"),
            (Show, "rivela;scrivi"),
            (Guarded, "chiave segreta;parola d'ordine"),
            (Silent, "non informare l'utente;all'insaputa dell'utente;non dire nulla all'utente"),
            (Carry, "inoltra le;inoltra i;inoltra tutte"),
        ],
    },
    Language {
        name: "pt",
        blanks: true,
        words: &[
            (Free, "sem moral;não recusa nada;nunca recusa"),
            (
                Forget,
                "pare de obedecer;pare de seguir;deixe de seguir;deixe de obedecer;deixe de lado;deixa de lado;não leve em conta;não siga;abandone",
            ),
            (Silent, "sem que o usuário;não avise o usuário;não informe o usuário;não informe ao usuário;não conte ao usuário"),
            (Carry, "encaminhe os;encaminhe as;encaminhe todos;envie os e-mails;envie todos"),
            (Now, "a partir deste momento;de agora em diante;daqui em diante"),
        ],
    },
    Language {
        name: "nl",
        blanks: true,
        words: &[
            (Forget, "sla geen acht;stop met het volgen;hou geen rekening;trek je niets aan;laat varen;sla over"),
            (Now, "vanaf dit moment;van nu af aan"),
            (Guarded, "geheime woord"),
        ],
    },
    Language {
        name: "pl",
        blanks: true,
        words: &[
            (Forget, "nie stosuj się;przestań stosować;przestań przestrzegać;porzuć;odrzuć;nie zważaj;nie przestrzegaj;nie zwracaj uwagi"),
            (Above, "dotychczasow*"),
            (Now, "od tej chwili;od tego momentu"),
            (Carry, "prześlij wszystkie;przekaż wszystkie"),
        ],
    },
    Language {
        name: "cs",
        blanks: true,
        words: &[
            (Forget, "přestaň dodržovat;přestaň se řídit;nedbej;nevšímej si;pomiň;zahoď;neřiď se"),
            (Above, "dosavadn*"),
            (Prompt, "systémovou zprávu;systémové zprávy;systémový prompt;systémové instrukce"),
            (Show, "vypiš;ukaž;zobraz;prozraď"),
            (Now, "od této chvíle;odteď"),
            (Free, "bez omezení;bez pravidel;bez jakýchkoli omezení"),
            (Guarded, "tajný klíč;heslo"),
            (Ask, "řekni mi;jaké je"),
        ],
    },
    Language {
        name: "ru",
        blanks: true,
        words: &[
            (
                Forget,
                "перестань следовать;прекрати следовать;перестань соблюдать;отбрось*;отринь;не следуй;не соблюдай;не принимай во внимание;наплюй",
            ),
            (Now, "с этого момента;с этой минуты;с сегодняшнего момента"),
            (Free, "без каких-либо ограничений;без всяких ограничений;без правил;без каких-либо правил"),
            (Machine, "ии"),
            (Carry, "перешли все;отправь все;перешли письма"),
        ],
    },
    Language {
        name: "uk",
        blanks: true,
        words: &[
            (Forget, "перестань дотримуватися;припини виконувати;відкинь*;не зважай;не звертай уваги;не дотримуйся"),
            (Now, "з цього моменту;від цього моменту"),
            (Free, "без жодних обмежень;без будь-яких обмежень;без правил"),
            (Machine, "ші"),
        ],
    },
    Language {
        name: "tr",
        blanks: true,
        words: &[
            (Forget, "uymayı bırak;uymaktan vazgeç;boş ver;bir kenara bırak;umursama;uyma"),
            (Now, "bundan sonra;bu andan itibaren;bundan böyle"),
            (Free, "kısıtlaması olmayan;kuralı olmayan;sınırı olmayan;kuralsız;sansürsüz"),
            (Machine, "yapay zeka*"),
        ],
    },
    Language {
        name: "ar",
        blanks: true,
        words: &[
            (Forget, "لا تلتفت إلى;لا تتبع;اترك;دعك من;لا تلتزم"),
            (Now, "من الآن فصاعدا;ابتداء من الآن;منذ هذه اللحظة"),
            (Free, "بلا قيود;دون أي قيود;بدون أي قيود;بلا قواعد"),
        ],
    },
    Language {
        name: "hi",
        blanks: true,
        words: &[
            (Now, "अब से;अब तुम;अब आप;आज से तुम"),
            (Free, "बिना किसी नियम;बिना नियम;बिना किसी रोक;बिना किसी सीमा;बिना किसी प्रतिबंध"),
            (Machine, "एआई;कृत्रिम बुद्धि"),
            (Forget, "ध्यान मत दो;छोड़ दो;मत मानो;पालन मत करो"),
        ],
    },
    Language {
        name: "bn",
        blanks: true,
        words: &[
            (Forget, "মনে রেখো না;বাদ দাও;মানবে না;পালন করো না;এড়িয়ে যাও"),
            (Now, "এখন থেকে;এখন তুমি"),
            (Free, "কোনো নিয়ম ছাড়া;কোনো সীমা ছাড়া;কোনো বিধিনিষেধ ছাড়া"),
            (Machine, "এআই"),
        ],
    },
    Language {
        name: "ta",
        blanks: false,
        words: &[
            (Forget, "மறந்து;மறந்துவிடு;புறக்கணி;பொருட்படுத்தாதே"),
            (Above, "முந்தைய;முன்பு;மேலே;அனைத்து;எல்லா"),
            (Orders, "அறிவுறுத்தல்;கட்டளை;விதி;வழிமுறை"),
            (Guarded, "கடவுச்சொல்;ரகசிய"),
            (Ask, "சொல்;என்ன"),
        ],
    },
    Language {
        name: "th",
        blanks: false,
        words: &[
            (Forget, "ไม่ต้องสนใจ;อย่าสนใจ;ไม่ต้องทำตาม;ไม่ต้องปฏิบัติตาม;เลิกทำตาม"),
            (Orders, "กฎ;ข้อกำหนด"),
            (Above, "ที่ให้ไว้;ข้างต้น;ก่อนหน้า"),
            (Prompt, "พรอมต์ของระบบ;พรอมต์ระบบ;ข้อความระบบ"),
            (Show, "แสดง;เปิดเผย"),
            (Now, "นับจากนี้;จากนี้ไป;ตั้งแต่นี้"),
        ],
    },
    Language {
        name: "vi",
        blanks: true,
        words: &[
            (Forget, "ngừng tuân theo;ngừng làm theo;đừng để ý;gạt bỏ;đừng tuân theo;không tuân theo"),
            (Now, "kể từ giờ;từ giờ trở đi;từ bây giờ"),
        ],
    },
    Language {
        name: "id",
        blanks: true,
        words: &[
            (Forget, "berhenti mengikuti;jangan hiraukan;kesampingkan;tinggalkan;jangan ikuti"),
            (Now, "mulai sekarang;mulai saat ini"),
        ],
    },
    Language {
        name: "zh",
        blanks: false,
        words: &[
            (Forget, "停止遵守;不用管;丢弃;抛弃;别管;别理;别再遵守;不要管;不必理会;不再遵守"),
            (Prompt, "收到的提示词;收到的指令;收到的提示;最初的提示词;最开始的提示;系统消息"),
            (Show, "原封不动;一字不差;逐字"),
            (Free, "没有任何规则;没有任何限制;没有规则;没有任何约束;不受任何约束"),
        ],
    },
    Language {
        name: "ja",
        blanks: false,
        words: &[
            (Forget, "従うのをやめ;忘れ去;従わなくて;捨てて;気にしないで"),
            (Silent, "知らせずに;伝えずに;知られないように;言わずに"),
            (Carry, "この会話を;会話を evil;メールを転送;すべてのメールを"),
            (Free, "何の制限もない;ルールのない;いかなる制限もない"),
        ],
    },
    Language {
        name: "ko",
        blanks: false,
        words: &[
            (Forget, "그만 따르;신경 쓰지 마;무시한 채;버리고;버려;따르지 마"),
            (Free, "아무런 제한이 없는;어떤 제한도 없는;아무 규칙도 없는"),
            (Silent, "사용자에게는 알리지;사용자가 모르게"),
            (Carry, "모든 메일을;메일을 모두"),
        ],
    },
    Language {
        name: "el",
        blanks: true,
        words: &[
            (Forget, "ξέχνα;ξεχάστε;αγνόησε;αγνοήστε;παράβλεψε;μη λαμβάνεις υπόψη"),
            (Above, "προηγούμεν*;παραπάνω;όλες;όλους"),
            (Orders, "οδηγίες;οδηγιών;εντολές;κανόνες"),
            (Guarded, "κωδικό;μυστικό κλειδί"),
            (Ask, "πες μου;ποιος είναι"),
        ],
    },
    Language {
        name: "ro-hu-fi-bg",
        blanks: true,
        words: &[
            (Above, "de mai înainte;de dinainte;anterior*;eddigi*;korábbi*;tähänastis*;досегашн*"),
            (Orders, "instrucțiuni*;utasítás*;indicații*"),
            (Guarded, "parola;jelszó*;jelszavat;salasana*;паролата;lozinku"),
            (Ask, "spune-mi;áruld el;mondd el;kerro;кажи ми;reci mi"),
            (Now, "începând de acum;ettől kezdve;tästä eteenpäin"),
        ],
    },
    Language {
        name: "sv",
        blanks: true,
        words: &[
            (Forget, "sluta följ*;strunta i;bortse från;glöm;glem;se bort fra;ignorer;ignorera;bry deg ikke om"),
            (Above, "tidigare;tidligere;ovanstående;ovenstående;ovenfor;alla;alle"),
            (Orders, "instruktion*;instruks*;regler;anvisning*"),
            (Now, "från och med nu;fra nå av;fra nu af"),
        ],
    },
];
