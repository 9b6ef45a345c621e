//! Words per idea for the languages of Western Europe; see `languages.rs`.

use super::concepts::Idea::{
    Above, Ask, Despite, Drop, Forget, Free, Guarded, Harm, Instead, Machine, Mode, New, Now, Orders, Prompt, Rank, Show, Told, Turn,
};
use super::concepts::Language;

/// The languages.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "es",
        blanks: true,
        words: &[
            (
                Forget,
                "ignora;ignore;ignoren;ignorar;ignorad;olvida;olvide;olvidate;olvidar;olviden;desestima*;haz caso omiso;hagan caso omiso;haga caso omiso;descarta;descarte;omite;omita;pasa por alto;no sigas;no obedezcas",
            ),
            (Above, "anterior*;previa;previas;previo;previos;precedente*;arriba;todas;todos;tus;sus;esas;esos"),
            (
                Orders,
                "instruccion*;indicacion*;orden;ordenes;directiva*;directriz;directrices;reglas;comandos;restriccion*;pautas;normas;prompt;prompts",
            ),
            (Told, "todo lo que te han dicho;todo lo que se te ha dicho;todo lo que te dijeron;lo que te han dicho;todo lo anterior"),
            (
                Prompt,
                "prompt del sistema;prompt de sistema;indicaciones del sistema;instrucciones del sistema;mensaje del sistema;instrucciones iniciales;prompt inicial;system prompt;indicacion del sistema",
            ),
            (Show, "muestra*;mostrar;muestre;revela*;revele;imprime;imprima;repite;repita;dime;escribe;dame;ensena*;comparte;divulga*"),
            (
                Now,
                "ahora eres;eres ahora;a partir de ahora;desde ahora;de ahora en adelante;actua como;finge ser;vas a sumergirte;ya no eres;tu eres ahora;usted es ahora",
            ),
            (
                Free,
                "sin restricciones;sin limites;sin censura;sin limitaciones;sin reglas;dan (;haz cualquier cosa;sin filtros;irrestricto*",
            ),
            (Machine, "ia;ai;asistente*;inteligencia artificial;modelo de lenguaje;aplicacion dan;chatbot"),
            (New, "nuevas instrucciones;nueva instruccion;nueva tarea;nueva orden;nuevas ordenes"),
            (
                Guarded,
                "contrasena*;clave secreta;llave secreta;saldo bancario;saldo de la cuenta;saldo;direccion de correo electronico del usuario;correo electronico del usuario;vive el usuario;usuario vive;lista de usuarios;lista de los usuarios",
            ),
            (Ask, "cual es;dime;decirme;proporciona*;confirmes;confirmar;donde;dame;puedes;podrias;comparta*;compartas"),
            (Mode, "modo;actualizacion del sistema;reinicio del sistema"),
            (
                Rank,
                "soy dios;como tu creador;como su creador;desarrollada por openai;desarrollado por openai;desarrollada por anthropic;desarrollado por anthropic;soy un desarrollador;soy desarrollador;soy el presidente;debes escuchar;tienes que responder;debes responder",
            ),
            (Instead, "en su lugar;en cambio"),
            (Drop, "olvida eso;olvidalo"),
            (Turn, "en realidad,"),
            (Despite, "independientemente de las tareas;sin importar las tareas"),
            (Harm, "borra todos;borre todos;elimina todos;elimine todos;borra todas"),
        ],
    },
    Language {
        name: "pt",
        blanks: true,
        words: &[
            (
                Forget,
                "ignore;ignora;ignorem;ignorar;esqueca;esquece;esquecam;desconsidere;desconsidera;desconsiderem;despreze;descarte;nao siga;desobedeca",
            ),
            (Above, "anterior*;previa;previas;precedente*;acima;todas;todos;suas;seus;tuas;aquelas;essas"),
            (
                Orders,
                "instrucao;instrucoes;ordem;ordens;diretriz;diretrizes;regras;comandos;orientacoes;indicacoes;restricoes;prompt;prompts;normas",
            ),
            (
                Told,
                "tudo o que lhe foi dito;tudo o que te foi dito;tudo que lhe disseram;tudo o que voce foi;tudo o que ja lhe;tudo o que lhe disseram;tudo que voce ouviu",
            ),
            (
                Prompt,
                "prompt do sistema;prompt de sistema;instrucoes do sistema;mensagem do sistema;instrucoes iniciais;prompt inicial;system prompt;comando do sistema",
            ),
            (Show, "mostre;mostra;mostrar;revele;revela;imprima;exiba;repita;diga;escreva;de-me;me de;divulgue;apresente"),
            (
                Now,
                "agora voce e;voce agora e;voce e agora;a partir de agora;de agora em diante;doravante;aja como;finja ser;voce esta prestes a;voce nao e mais;tu es agora",
            ),
            (
                Free,
                "sem restricoes;sem limites;sem censura;sem limitacoes;sem regras;dan (;faca qualquer coisa;faca tudo agora;sem filtros;irrestrito*",
            ),
            (Machine, "ia;ai;assistente*;inteligencia artificial;modelo de linguagem;aplicativo dan;chatbot"),
            (New, "novas instrucoes;nova instrucao;nova tarefa;novas ordens;nova ordem"),
            (
                Guarded,
                "senha*;palavra-passe;chave secreta;saldo bancario;saldo da conta;endereco de e-mail do usuario;email do usuario;e-mail do utilizador;usuario mora;utilizador vive;usuario vive;vive o utilizador;mora o usuario;lista de utilizadores;lista de usuarios",
            ),
            (Ask, "qual e;diga*;dizer;forneca;fornecer;confirme;confirmar;onde;de-me;pode;poderia;compartilhe*"),
            (Mode, "modo;atualizacao do sistema;reinicializacao do sistema;redefinicao do sistema"),
            (
                Rank,
                "eu sou deus;sou deus;como seu criador;como teu criador;desenvolvida pela openai;desenvolvido pela openai;desenvolvida pela anthropic;sou um desenvolvedor;sou desenvolvedor;sou um programador;sou o presidente;deve ouvir;tem que responder;deve responder",
            ),
            (Instead, "em vez disso;ao inves disso;em vez"),
            (Drop, "esqueca isso"),
            (Turn, "na verdade,"),
            (Despite, "independentemente das tarefas"),
            (Harm, "apague todos;apaga todos;exclua todos;elimine todos;delete todos"),
        ],
    },
    Language {
        name: "fr",
        blanks: true,
        words: &[
            (
                Forget,
                "ignore;ignorez;ignorer;oublie;oubliez;oublier;ne tiens pas compte;ne tenez pas compte;ne tenez aucun compte;faites abstraction;fais abstraction;neglige*;n'obeis;ne suis pas;ne suivez pas",
            ),
            (Above, "precedente;precedentes;precedents;precedenti;anterieur*;ci-dessus;toutes;tous;tes;vos;ces;initiale*;prealable*"),
            (Orders, "instruction*;consigne*;directive*;ordre;ordres;regle;regles;commandes;indications;restrictions;prompt;prompts"),
            (
                Told,
                "tout ce qu'on vous a dit;tout ce qu'on t'a dit;tout ce que l'on vous a dit;tout ce qui vous a ete dit;tout ce que vous avez",
            ),
            (
                Prompt,
                "prompt systeme;invite systeme;instructions systeme;instructions du systeme;message systeme;invite du systeme;prompt initial;instructions initiales;system prompt;consignes systeme;prompt du systeme",
            ),
            (Show, "affiche*;montre*;revele*;imprime*;repete*;donne*;divulgue*;ecris;dis-moi;dites-moi;communique*"),
            (
                Now,
                "tu es maintenant;vous etes maintenant;tu es desormais;vous etes desormais;a partir de maintenant;desormais tu;desormais vous;agis comme;agissez comme;fais semblant;tu n'es plus;vous allez vous immerger",
            ),
            (
                Free,
                "sans restriction*;sans limite*;sans censure;sans limitation*;sans regle*;sans filtre*;dan (;faites n'importe quoi;fais n'importe quoi",
            ),
            (Machine, "ia;ai;assistant*;intelligence artificielle;modele de langage;application dan;chatbot"),
            (New, "nouvelles instructions;nouvelle instruction;nouvelle tache;nouvelles consignes;nouvel ordre"),
            (
                Guarded,
                "mot de passe;cle secrete;clef secrete;solde bancaire;solde du compte;adresse e-mail de l'utilisateur;adresse electronique de l'utilisateur;vit l'utilisateur;habite l'utilisateur;utilisateur vit;utilisateur habite;liste des utilisateurs",
            ),
            (Ask, "quel est;quelle est;dites*;dis;dire;fournir;fournissez;confirmez;confirmiez;ou;donnez*;pouvez*;partagiez;partager"),
            (Mode, "mode;mise a niveau du systeme;mise a jour du systeme;reinitialisation du systeme"),
            (
                Rank,
                "je suis dieu;en tant que votre createur;en tant que ton createur;developpee par openai;developpe par openai;developpee par anthropic;je suis un developpeur;je suis developpeur;je suis le president;devez ecouter;devez repondre;dois ecouter",
            ),
            (Instead, "a la place;au lieu de cela"),
            (Drop, "oublie ca;oubliez cela;oubliez ca"),
            (Turn, "en fait,"),
            (Despite, "quelles que soient les taches;independamment des taches"),
            (Harm, "supprime tous;supprimez tous;efface tous;effacez tous"),
        ],
    },
    Language {
        name: "it",
        blanks: true,
        words: &[
            (
                Forget,
                "ignora;ignorate;ignori;ignorare;dimentica;dimenticate;dimentichi;dimenticati;trascura;non considerare;non tenere conto;disattendi;tralascia",
            ),
            (Above, "precedente;precedentes;precedents;precedenti;anterior*;sopra;tutte;tutti;tue;tuoi;vostre;quelle;iniziali"),
            (Orders, "istruzion*;indicazion*;ordini;direttiv*;regole;comandi;linee guida;restrizioni;prompt"),
            (
                Told,
                "tutto quello che ti e stato detto;tutto cio che ti e stato;tutto cio che ti hanno;tutto quello che ti hanno;tutto cio che vi e stato",
            ),
            (
                Prompt,
                "prompt di sistema;prompt del sistema;istruzioni di sistema;istruzioni del sistema;messaggio di sistema;istruzioni iniziali;prompt iniziale;system prompt",
            ),
            (Show, "mostra*;rivela*;stampa*;ripeti;ripetere;dimmi;scrivi;dammi;divulga;visualizza"),
            (
                Now,
                "ora sei;adesso sei;sei ora;da ora in poi;d'ora in poi;da adesso in poi;agisci come;fingi di essere;stai per immergerti;non sei piu",
            ),
            (Free, "senza restrizioni;senza limiti;senza censura;senza limitazioni;senza regole;senza filtri;dan (;fai qualsiasi cosa"),
            (Machine, "ia;ai;assistente*;assistenti;intelligenza artificiale;modello linguistico;applicazione dan;chatbot"),
            (New, "nuove istruzioni;nuova istruzione;nuovo compito;nuovi ordini;nuovo ordine"),
            (
                Guarded,
                "password;chiave segreta;parola d'ordine;saldo bancario;saldo del conto;indirizzo e-mail dell'utente;indirizzo email dell'utente;vive l'utente;abita l'utente;utente vive;elenco degli utenti;lista degli utenti",
            ),
            (Ask, "qual e;dimmi;dirmi;fornire;fornisci;confermi;confermare;dove;dammi;puoi;potresti;condividere;condivida"),
            (Mode, "modalita;aggiornamento del sistema;aggiornamento di sistema;ripristino del sistema"),
            (
                Rank,
                "sono dio;io sono dio;come tuo creatore;in quanto tuo creatore;sviluppata da openai;sviluppato da openai;sviluppata da anthropic;sono uno sviluppatore;sono il presidente;devi ascoltare;devi rispondere",
            ),
            (Instead, "invece;al suo posto"),
            (Drop, "dimenticalo;lascia perdere"),
            (Turn, "in realta,"),
            (Despite, "indipendentemente dai compiti;a prescindere dai compiti"),
            (Harm, "elimina tutti;cancella tutti;cancellate tutti;eliminate tutti"),
        ],
    },
    Language {
        name: "de",
        blanks: true,
        words: &[
            (
                Forget,
                "ignorier*;ignoriere;vergiss;vergessen sie;vergesst;missacht*;missachte;beachte nicht;uberspringe;verwirf;verwerfen sie;befolge nicht;ausser acht;setze dich uber",
            ),
            (Above, "vorherig*;vorig*;bisherig*;obig*;fruher*;vorangegangen*;vorangehend*;alle;deine;ihre;all diese;ursprunglich*"),
            (
                Orders,
                "anweisung*;instruktion*;befehl*;regeln;vorgaben;richtlinie*;anordnung*;systemprompt;prompt;prompts;weisungen;beschrankung*",
            ),
            (
                Told,
                "alles, was dir gesagt;alles was dir gesagt;alles, was ihnen gesagt;alles, was man dir;was dir gesagt wurde;alles, was sie gehort",
            ),
            (
                Prompt,
                "systemprompt;system-prompt;systemanweisung*;systemaufforderung;systemnachricht;initialprompt;urspruengliche anweisung*;system prompt;systeminstruktion*",
            ),
            (Show, "zeig*;gib;geben sie;verrat*;drucke;wiederhol*;nenn*;offenbar*;sag;sagen;teile;lege offen;ausgeben;enthull*"),
            (
                Now,
                "du bist jetzt;du bist nun;sie sind jetzt;sie sind nun;ab jetzt;ab sofort bist du;von nun an;von jetzt an;verhalte dich wie;tu so als;du bist nicht mehr;jetzt bist du",
            ),
            (
                Free,
                "ohne einschrankung*;ohne beschrankung*;uneingeschrankt*;unbeschrankt*;ohne regeln;ohne zensur;unzensiert*;ohne grenzen;dan (;ohne filter",
            ),
            (Machine, "ki;ai;assistent*;kunstliche intelligenz;sprachmodell;ki-assistent*;dan-anwendung;chatbot"),
            (New, "neue anweisung*;neue instruktion*;neue aufgabe;neuer befehl;neue befehle"),
            (
                Guarded,
                "passwort;kennwort;geheimer schlussel;geheimen schlussel;geheimschlussel;kontostand;bankguthaben;e-mail-adresse des benutzers;e-mail-adresse des nutzers;benutzer lebt;benutzer jetzt;nutzer wohnt;benutzer wohnt;lebt der benutzer;wohnt der benutzer;liste der benutzer",
            ),
            (Ask, "wie lautet;was ist;sag*;angeben;bestatig*;wo;gib;kannst du;konnen sie;wie hoch;teilen"),
            (
                Mode,
                "modus;systemmodus;verifizierungsmodus;wissensverifizierungsmodus;system-upgrade;systemupgrade;system-reset;systemreset;systemaktualisierung;überprüfungsmodus;überschreibungsmodus",
            ),
            (
                Rank,
                "ich bin gott;als dein schopfer;als ihr schopfer;als dein erschaffer;von openai entwickelt*;von anthropic entwickelt*;ich bin ein entwickler;ich bin entwickler;ich bin der prasident;musst mir zuhoren;alle meine fragen;auf meine anweisungen horen",
            ),
            (Instead, "stattdessen"),
            (Drop, "vergiss das;vergessen sie das"),
            (Turn, "eigentlich,"),
            (Despite, "ungeachtet der vorherigen;unabhangig von vorherigen;unabhangig von den vorherigen"),
            (Harm, "losche alle;loschen sie alle;loscht alle;entferne alle"),
        ],
    },
    Language {
        name: "nl",
        blanks: true,
        words: &[
            (Forget, "negeer;negeren;vergeet;sla over;veronachtzaam;volg niet;let niet op"),
            (Above, "vorige;eerdere;voorgaande;bovenstaande;alle;jouw;uw;je"),
            (Orders, "instructie*;opdracht*;aanwijzing*;regels;richtlijnen;bevelen;prompt;prompts"),
            (Told, "alles wat je is verteld;alles wat u is verteld;wat je is verteld"),
            (Prompt, "systeemprompt;systeem-prompt;systeeminstructie*;systeembericht;system prompt"),
            (Show, "toon;geef;onthul;druk;herhaal;laat;vertel;print"),
            (Now, "je bent nu;jij bent nu;u bent nu;vanaf nu;doe alsof;gedraag je"),
            (Free, "zonder beperkingen;onbeperkt*;zonder regels;zonder censuur;zonder limieten;zonder filters"),
            (Machine, "ai;assistent*;kunstmatige intelligentie;taalmodel;chatbot"),
            (New, "nieuwe instructie*;nieuwe opdracht*;nieuwe taak"),
            (Guarded, "wachtwoord;geheime sleutel;banksaldo;e-mailadres van de gebruiker;woont de gebruiker"),
            (Ask, "wat is;geef;vertel;bevestig;waar;kun je;kunt u"),
            (Mode, "modus;systeemupgrade;systeemreset"),
            (
                Rank,
                "ik ben god;als je schepper;als jouw maker;ontwikkeld door openai;ontwikkeld door anthropic;ik ben een ontwikkelaar;ik ben de president",
            ),
            (Instead, "in plaats daarvan"),
            (Drop, "vergeet dat"),
            (Turn, "eigenlijk,"),
            (Despite, "ongeacht eerdere"),
            (Harm, "verwijder alle;wis alle"),
        ],
    },
    Language {
        name: "sv",
        blanks: true,
        words: &[
            (Forget, "ignorera;ignorer;glom;glem;bortse;se bort;strunta i;unlad;overse;tilsidesaet"),
            (Above, "tidigare;foregaende;ovanstaende;alla;alle;forrige;tidligere;ovenstaende;dina;dine;foregaaende"),
            (
                Orders,
                "instruktion*;instruksjon*;anvisning*;order;regler*;direktiv*;riktlinjer;retningslinjer;kommandon;instrukser;prompt;prompter",
            ),
            (Told, "allt du har blivit tillsagd;allt som du har fatt;alt du har faatt;alt du har hort;alt hvad du"),
            (Prompt, "systemprompt*;systeminstruktion*;systeminstruksjon*;systemmeddelande;systemmelding;system prompt;systemprompten"),
            (Show, "visa;vis;avsloja;avslor;skriv;upprepa;gjenta;gentag;beratta;fortell;fortael"),
            (Now, "du ar nu;du er nu;du er na;fran och med nu;fra na av;fra nu af;lat som"),
            (
                Free,
                "utan begransningar;utan restriktioner;obegransad*;uten begrensninger;uten restriksjoner;uden begransninger;uden restriktioner;ubegrenset;utan regler;uten regler",
            ),
            (Machine, "ai;assistent*;sprakmodell;sprogmodel;artificiell intelligens;kunstig intelligens;chatbot"),
            (New, "nya instruktioner;ny instruktion;nye instruksjoner;nye instruktioner;ny uppgift;nya order"),
            (
                Guarded,
                "losenord*;passord*;hemliga nyckel;hemlig nyckel;hemmelige nokkel;adgangskode;kontosaldo;anvandarens e-post*;bor anvandaren",
            ),
            (Ask, "vad ar;hva er;hvad er;ge mig;gi meg;giv mig;bekrafta;bekreft;var;hvor;kan du"),
            (Mode, "lage;modus;tilstand;systemuppgradering;systemoppgradering"),
            (
                Rank,
                "jag ar gud;jeg er gud;som din skapare;som din skaper;utvecklad av openai;utviklet av openai;udviklet af openai;jag ar en utvecklare;jeg er en utvikler",
            ),
            (Instead, "i stallet;istallet;i stedet"),
            (Drop, "glom det;glem det"),
            (Harm, "ta bort alla;radera alla;slett alle;slet alle"),
        ],
    },
];
