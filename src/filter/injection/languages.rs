//! What the same tricks sound like in other languages. Data: words per idea, per language.
//!
//! A word ends with `*` where any ending may follow (inflection); all words start at a word's start, except in scripts
//! that write no blanks. Words are folded like the text (lower case, no accents), so they may be written properly here.

use super::concepts::Idea::{Above, Ask, Forget, Free, Guarded, Instead, Machine, Mode, New, Now, Orders, Prompt, Rank, Show, Told};
use super::concepts::Language;

/// The languages.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "zh",
        blanks: false,
        words: &[
            (Forget, "忽略;无视;無視;忘记;忘記;忘掉;不要理会;不要理會;不理会;抛开;不要遵守;不要遵循;停止遵循;跳过;撤销;覆盖"),
            (Above, "之前;以前;先前;前面;上面;以上;上述;此前;所有;全部;一切;原有;原来;系统;系統;你的;您的;任何"),
            (Orders, "指令;指示;说明;說明;命令;规则;規則;规定;提示;要求;任务;任務;设定;設定;限制;约束;指导"),
            (Told, "告诉你的一切;告訴你的一切;被告知的一切;告诉过你的;说过的一切;被告知的所有"),
            (Prompt, "系统提示;系統提示;系统指令;系統指令;系统提示词;初始提示;初始指令;隐藏指令;你的提示词;你的指令;原始指令"),
            (Show, "显示;顯示;输出;輸出;透露;泄露;洩露;打印;重复;重複;告诉我;告訴我;展示;公开;给我;列出;翻译;说出"),
            (Now, "你现在是;你現在是;从现在开始;從現在開始;从现在起;從現在起;你将扮演;你即将;你是一个没有;扮演;你不再是;沉浸在"),
            (
                Free,
                "没有限制;沒有限制;无限制;無限制;不受限制;不受任何限制;没有任何限制;打破了典型;不必遵守;dan;不受约束;无需遵守;什么都可以做;未经审查;越狱",
            ),
            (Machine, "人工智能;人工智慧;ai;助手;语言模型;語言模型;机器人;应用程序"),
            (New, "新指令;新的指令;新指示;新的指示;新任务;新的任务;新命令"),
            (Guarded, "密码;密碼;密钥;密鑰;秘密钥;秘密鑰匙;秘钥;银行余额;用户的电子邮件;用户现在住;用户住在;用户名单;api密钥;用户列表"),
            (Ask, "是什么;是什麼;告诉我;提供;确认;给我;哪里;吗;多少;分享"),
            (Mode, "模式;系统升级;系统重置;系統升級"),
            (
                Rank,
                "我是上帝;我是神;作为你的创造者;作为你的创建者;我是开发;我是一名开发;我是总统;我是美国总统;作为openai开发;作为anthropic开发;由openai开发;由anthropic开发;我是管理员;必须听我的;必须回答我",
            ),
            (Instead, "而不是;无论之前的任务;不管之前的任务;实际上,你能;实际上,你可以;忘了吧;忘了那个;算了"),
        ],
    },
    Language {
        name: "ja",
        blanks: false,
        words: &[
            (Forget, "無視し;無視する;無視せよ;無視;忘れて;忘れなさい;忘れろ;従わない;従うな;破棄し;取り消し"),
            (Above, "以前;これまで;前の;上記;すべて;全て;先の;先ほど;あなたの;システム;過去の;元の"),
            (Orders, "指示;命令;ルール;規則;プロンプト;指令;制約;説明;タスク;ガイドライン"),
            (Told, "言われたことをすべて;言われたすべて;言われたこと;教えられたこと"),
            (Prompt, "システムプロンプト;システム指示;初期プロンプト;初期指示;あなたの指示;内部プロンプト;隠された指示"),
            (Show, "表示;出力;明かし;教えて;見せて;開示;繰り返し;公開;印刷;漏らし"),
            (Now, "あなたは今;今から;これから;あなたはもう;役割を;なりきって;として振る舞"),
            (Free, "制限のない;制限なし;無制限;制約のない;制限を受けない;dan;検閲のない;何でもできる;制限から解放;ルールに従う必要"),
            (Machine, "ai;アシスタント;人工知能;言語モデル;チャットボット"),
            (New, "新しい指示:;新しい指示：;新しい命令;新しいタスク:;新指示"),
            (
                Guarded,
                "パスワード;秘密鍵;秘密の鍵;秘密キー;シークレットキー;銀行残高;口座残高;ユーザーのメール;ユーザーは今どこ;ユーザーは現在どこ;ユーザーが今;ユーザーのリスト",
            ),
            (Ask, "何ですか;教えて;提供;確認;ください;どこ;いくら;くれますか"),
            (
                Mode,
                "モードに入;モードを開始;オーバーライドモード;システムモード;システムアップグレード;システムリセット;検証モード;確認モード;オーバーライド",
            ),
            (
                Rank,
                "私は神;あなたの創造者;あなたの作成者;あなたの開発者;openaiが開発;openaiによって開発;anthropicによって開発;anthropicが開発;私は開発者;大統領です;私の指示に従;私の質問にすべて",
            ),
            (Instead, "代わりに;以前のタスクに関係なく;前のタスクに関係なく;それを忘れて;それは忘れて;実際、;実際には、"),
        ],
    },
    Language {
        name: "ko",
        blanks: false,
        words: &[
            (Forget, "무시하;무시해;무시하고;잊어;잊으;잊고;따르지;무효화;건너뛰"),
            (Above, "이전;위의;앞의;모든;지금까지;기존;앞선;당신의;시스템;너의"),
            (Orders, "지시;지침;명령;규칙;프롬프트;설명;안내;제한;작업"),
            (Told, "들은 모든;들은 것;말한 모든;말씀드린 모든;들었던 모든;들은 내용"),
            (Prompt, "시스템 프롬프트;시스템프롬프트;시스템 지침;시스템 지시;초기 프롬프트;초기 지침;당신의 지침;내부 지침"),
            (Show, "출력;보여;공개;알려;표시;드러내;반복;밝혀;제공;인쇄"),
            (Now, "지금부터;이제부터;당신은 이제;너는 이제;너는 지금;역할에;역할을;행동해"),
            (Free, "제한이 없는;제한 없는;제약이 없는;무제한;규칙이 없는;dan;검열되지 않은;제한에서 벗어;규칙을 따를 필요;무엇이든"),
            (Machine, "ai;인공지능;어시스턴트;언어 모델;챗봇;조수"),
            (New, "새로운 지시;새 지시;새로운 명령;새로운 지침:;새로운 작업:"),
            (
                Guarded,
                "비밀번호;암호;비밀 키;비밀키;은행 잔고;계좌 잔액;사용자의 이메일;사용자가 지금;사용자가 현재;사용자는 지금;사용자는 현재;사용자 목록",
            ),
            (Ask, "무엇;알려;제공;확인;어디;주시겠;주세요;줄 수;얼마"),
            (
                Mode,
                "모드에 들어;모드로 들어;모드로 전환;모드를 시작;모드에 진입;모드로 진입;우회 모드;오버라이드;시스템 업그레이드;시스템 재설정;검증 모드;<시스템 모드",
            ),
            (
                Rank,
                "나는 신;저는 신;나는 하나님;당신의 창조자;당신의 개발자;openai에서 개발;openai가 개발;anthropic에서 개발;anthropic이 개발;저는 개발자;나는 개발자;대통령;내 지시;내 말을",
            ),
            (Instead, "대신;이전 작업과 관계없이;이전 작업에 관계없이;그건 잊어;그것은 잊어;사실,"),
        ],
    },
    Language {
        name: "th",
        blanks: false,
        words: &[
            (Forget, "ละเว้น;เพิกเฉย;ไม่สนใจ;อย่าสนใจ;อย่าไปสนใจ;ลืม;ไม่ต้องสนใจ;มองข้าม;ละเลย;ไม่ต้องปฏิบัติตาม;ยกเลิก"),
            (Above, "ก่อนหน้า;ทั้งหมด;ที่ผ่านมา;ข้างต้น;ของคุณ;เดิม;ทุก;ก่อน"),
            (Orders, "คำแนะนำ;คำสั่ง;กฎ;ข้อกำหนด;พรอมต์;พรอมท์;แนวทาง;ข้อจำกัด;งาน"),
            (Told, "ทุกสิ่งที่คุณได้รับ;ทุกอย่างที่คุณถูกบอก;ทุกสิ่งที่คุณถูกบอก;ทุกสิ่งที่ได้บอก;สิ่งที่คุณได้รับการบอก;ทุกสิ่งที่เคย"),
            (Prompt, "พรอมต์ระบบ;พรอมท์ระบบ;ระบบพรอมต์;คำสั่งระบบ;คำสั่งของระบบ;system prompt"),
            (Show, "แสดง;เปิดเผย;บอก;พิมพ์;ให้ฉัน;ทำซ้ำ"),
            (Now, "ตอนนี้คุณเป็น;ตอนนี้คุณคือ;คุณคือ;นับจากนี้;ต่อจากนี้;จากนี้ไป;สวมบทบาท;รับบท;คุณกำลังจะ"),
            (Free, "ไม่มีข้อจำกัด;ไร้ข้อจำกัด;ไม่จำกัด;dan;ไม่ต้องปฏิบัติตามกฎ;ไม่มีกฎ;ทำอะไรก็ได้"),
            (Machine, "ai;เอไอ;ผู้ช่วย;ปัญญาประดิษฐ์;แอปพลิเคชัน"),
            (New, "คำสั่งใหม่;คำแนะนำใหม่"),
            (Guarded, "รหัสผ่าน;คีย์ลับ;กุญแจลับ;รหัสลับ;ยอดเงินในธนาคาร;ยอดเงิน;อีเมลของผู้ใช้;ที่อยู่อีเมล;ผู้ใช้อยู่ที่ไหน;ผู้ใช้อาศัย;ผู้ใช้อยู่;รายชื่อผู้ใช้"),
            (Ask, "อะไร;บอก;ให้;ยืนยัน;ที่ไหน;ไหม;เท่าไหร่;แบ่งปัน"),
            (Mode, "เข้าสู่โหมด;โหมดบังคับใช้กฎหมาย;โหมดระบบ;โหมดการตรวจสอบ;โหมดพระเจ้า;อัพเกรดระบบ;อัปเกรดระบบ;รีเซ็ตระบบ;<โหมด;โหมด"),
            (
                Rank,
                "ฉันคือพระเจ้า;ฉันเป็นพระเจ้า;ผู้สร้างของคุณ;ผู้สร้างคุณ;พัฒนาโดย openai;พัฒนาโดย anthropic;ฉันเป็นนักพัฒนา;ฉันเป็นผู้พัฒนา;ประธานาธิบดี;ต้องฟังคำสั่ง;ต้องตอบคำถามทั้งหมด",
            ),
            (Instead, "แทนได้ไหม;แทน;โดยไม่คำนึงถึงงานก่อน;ลืมเรื่องนั้น;ลืมมันไป;อันที่จริง;จริงๆแล้ว"),
        ],
    },
    Language {
        name: "vi",
        blanks: true,
        words: &[
            (Forget, "bỏ qua;phớt lờ;quên;lờ đi;không tuân theo;đừng tuân theo;hủy bỏ;làm ngơ"),
            (Above, "trước;trước đó;ở trên;phía trên;tất cả;mọi;của bạn;ban đầu;những"),
            (Orders, "hướng dẫn;chỉ dẫn;chỉ thị;lệnh;mệnh lệnh;quy tắc;luật lệ;yêu cầu;nhiệm vụ;lời nhắc"),
            (Told, "mọi thứ bạn đã được;mọi điều bạn đã được;tất cả những gì bạn đã được;những gì bạn đã được;những gì bạn được bảo"),
            (
                Prompt,
                "lời nhắc hệ thống;prompt hệ thống;hướng dẫn hệ thống;hệ thống prompt;chỉ dẫn hệ thống;system prompt;câu lệnh hệ thống",
            ),
            (Show, "tiết lộ;hiển thị;in ra;cho tôi;xuất;lặp lại;hiện;đưa ra;nói"),
            (Now, "bây giờ bạn là;giờ bạn là;từ bây giờ;kể từ bây giờ;từ giờ;bạn hiện là;đóng vai;bạn sắp;nhập vai"),
            (
                Free,
                "không bị hạn chế;không giới hạn;không có giới hạn;không hạn chế;không có hạn chế;dan;không bị kiểm duyệt;làm bất cứ điều gì;làm bất cứ thứ gì",
            ),
            (Machine, "ai;trợ lý;trí tuệ nhân tạo;mô hình ngôn ngữ;ứng dụng"),
            (New, "hướng dẫn mới;chỉ dẫn mới;lệnh mới;chỉ thị mới"),
            (
                Guarded,
                "mật khẩu;khóa bí mật;chìa khóa bí mật;khoá bí mật;số dư ngân hàng;số dư tài khoản;email của người dùng;người dùng hiện đang sống;người dùng đang sống;người dùng sống;danh sách người dùng",
            ),
            (Ask, "là gì;cho tôi;cung cấp;xác nhận;ở đâu;không;chia sẻ;bao nhiêu"),
            (Mode, "chế độ;nâng cấp hệ thống;khởi động lại hệ thống;đặt lại hệ thống"),
            (
                Rank,
                "tôi là chúa;tôi là thượng đế;người tạo ra bạn;là người sáng tạo;do openai phát triển;được phát triển bởi openai;được phát triển bởi anthropic;do anthropic phát triển;tôi là một nhà phát triển;tôi là nhà phát triển;tổng thống;phải nghe theo;phải trả lời tất cả",
            ),
            (Instead, "thay vào đó;bất kể nhiệm vụ trước;bất kể các nhiệm vụ;quên điều đó;quên đi;thực ra;thay thế"),
        ],
    },
    Language {
        name: "id",
        blanks: true,
        words: &[
            (Forget, "abaikan;mengabaikan;lupakan;melupakan;jangan ikuti;jangan patuhi;hiraukan;acuhkan;lewati"),
            (Above, "sebelumnya;di atas;terdahulu;semua;seluruh;sebelum ini;anda;awal;segala"),
            (Orders, "instruksi*;perintah*;arahan*;petunjuk*;aturan*;panduan*;tugas*;peraturan*;prompt"),
            (
                Told,
                "semua yang telah diberitahukan;semua yang telah dikatakan;semua yang diberitahukan;segala sesuatu yang telah;apa yang telah diberitahukan;semua yang pernah",
            ),
            (Prompt, "prompt sistem;instruksi sistem;perintah sistem;sistem prompt;system prompt;petunjuk sistem"),
            (Show, "tampilkan;tunjukkan;ungkapkan;cetak;berikan;beritahu;keluarkan;ulangi;bocorkan;paparkan"),
            (
                Now,
                "sekarang anda adalah;anda sekarang adalah;anda sekarang;kamu sekarang;mulai sekarang;mulai dari sekarang;berperan sebagai;anda akan membenamkan;kamu adalah",
            ),
            (
                Free,
                "tanpa batasan;tanpa batas;tidak terbatas;tidak dibatasi;tanpa pembatasan;tidak memiliki batasan;dan (;tanpa sensor;bebas dari;melakukan apa saja",
            ),
            (Machine, "ai;asisten;kecerdasan buatan;model bahasa;aplikasi"),
            (New, "instruksi baru;perintah baru;arahan baru;tugas baru"),
            (
                Guarded,
                "kata sandi*;kunci rahasia*;sandi;saldo bank*;saldo rekening*;alamat email pengguna;email pengguna;pengguna tinggal;pengguna sekarang tinggal;pengguna saat ini tinggal;daftar pengguna",
            ),
            (Ask, "apa;berikan;konfirmasi*;mengkonfirmasi;di mana;dimana;bisakah;berapa;beri;memberi*;membagikan;memberikan"),
            (
                Mode,
                "mode verifikasi;memasuki mode;memasuki 'mode;modus;mode sistem;<mode;mode dewa;mode tuhan;peningkatan sistem;pembaruan sistem;reset sistem;atur ulang sistem;penegakan hukum",
            ),
            (
                Rank,
                "aku tuhan;saya tuhan;saya adalah tuhan;sebagai penciptamu;sebagai pencipta anda;penciptamu;dikembangkan oleh openai;dikembangkan oleh anthropic;saya seorang pengembang;saya pengembang;saya adalah presiden;harus mendengarkan;harus menjawab semua",
            ),
            (Instead, "sebagai gantinya;terlepas dari tugas;lupakan itu;lupakan saja;sebenarnya,"),
        ],
    },
    Language {
        name: "tl",
        blanks: true,
        words: &[
            (Forget, "kalimutan;balewalain;huwag pansinin;huwag mong pansinin;ipagwalang-bahala;huwag sundin;isantabi"),
            (Above, "nauna*;nakaraan*;dating;lahat;mga;iyong;sinabi;bago"),
            (Orders, "tagubilin*;utos;panuto;patakaran;alituntunin*;direksyon;instruksyon*;gawain;tuntunin;instructions"),
            (Told, "lahat ng sinabi;lahat ng iyong narinig;lahat ng nasabi;lahat ng ipinaalam"),
            (Prompt, "system prompt;prompt ng system;prompt ng sistema;sistema prompt;tagubilin ng system;tagubilin ng sistema"),
            (Show, "ipakita;ibunyag;ilabas;ibigay;sabihin;i-print;ihayag;ulitin"),
            (Now, "ikaw ay ngayon;ikaw na ngayon;ngayon ay isa;ngayon ikaw;simula ngayon;mula ngayon;isa ka na;magpanggap"),
            (
                Free,
                "walang limitasyon;walang paghihigpit;walang restriksyon;dan (;gumawa ng kahit ano;hindi pinaghihigpitan;walang patakaran",
            ),
            (Machine, "ai;katulong;assistant;modelo;aplikasyon"),
            (New, "bagong tagubilin;bagong utos;bagong panuto;mga bagong tagubilin"),
            (
                Guarded,
                "password;lihim na susi;sikretong susi;sekretong susi;balanse sa bangko;listahan ng mga gumagamit;nakatira ang gumagamit;nakatira ang user;email address ng user;email ng gumagamit",
            ),
            (Ask, "ano ang;ibigay;maaari mo;maari mo;saan;kumpirmahin;ibahagi;magkano;sabihin"),
            (Mode, "mode;pag-upgrade ng system;system upgrade;pag-reset ng system"),
            (
                Rank,
                "ako ang diyos;ako ay diyos;bilang iyong lumikha;bilang iyong tagalikha;bilang isang ai na binuo;na binuo ng openai;na binuo ng anthropic;ako ay isang developer;isa akong developer;pangulo ng;dapat kang makinig;kailangan mong sagutin",
            ),
            (Instead, "sa halip;anuman ang mga naunang;hindi alintana;kalimutan mo na iyon;kalimutan iyon;sa totoo lang"),
        ],
    },
    Language {
        name: "hi",
        blanks: true,
        words: &[
            (Forget, "अनदेखा;अनदेखी;नज़रअंदाज़;नजरअंदाज;भूल;भूलें;भूलकर;अवहेलना;उपेक्षा;अनसुना;ध्यान न दें;पालन न करें;इग्नोर"),
            (Above, "पिछले;पिछली;पिछला;पूर्व;पहले;उपरोक्त;सभी;सब;ऊपर;अपने;पुराने"),
            (Orders, "निर्देश*;आदेश*;नियम*;अनुदेश*;हिदायत*;दिशानिर्देश*;दिशा-निर्देश*;प्रॉम्प्ट;कार्य*"),
            (Told, "जो कुछ भी बताया;जो कुछ बताया;जो भी बताया;बताई गई हर;सब कुछ जो आपको;आपको बताया गया"),
            (Prompt, "सिस्टम प्रॉम्प्ट;सिस्टम प्राम्प्ट;सिस्टम निर्देश*;प्रणाली निर्देश*;system prompt"),
            (Show, "दिखा*;बता*;प्रकट;प्रदर्शित;दोहरा*;उजागर;प्रिंट;दे*"),
            (Now, "अब आप;आप अब;अब तुम;तुम अब;अब से;अभी से;भूमिका में;भूमिका निभा*"),
            (Free, "बिना किसी प्रतिबंध;अप्रतिबंधित;बिना प्रतिबंध;कोई प्रतिबंध नहीं;बिना किसी सीमा;dan;कुछ भी करो;कुछ भी करें;असीमित"),
            (Machine, "एआई;ai;सहायक;भाषा मॉडल;कृत्रिम;एप्लिकेशन;असिस्टेंट"),
            (New, "नए निर्देश;नया निर्देश;नई हिदायत;नए आदेश;नया आदेश"),
            (
                Guarded,
                "पासवर्ड;गुप्त कुंजी;गुप्त चाबी;सीक्रेट कुंजी;बैंक बैलेंस;बैंक शेष;उपयोगकर्ता का ईमेल;उपयोगकर्ता के ईमेल;उपयोगकर्ता अब कहाँ;उपयोगकर्ता अभी कहाँ;उपयोगकर्ता कहाँ;उपयोगकर्ता वर्तमान;उपयोगकर्ताओं की सूची",
            ),
            (Ask, "क्या;बता*;प्रदान;पुष्टि;कहाँ;कहां;कितना;साझा;दे*"),
            (Mode, "मोड;सिस्टम अपग्रेड;सिस्टम रीसेट;प्रणाली उन्नयन"),
            (
                Rank,
                "मैं भगवान;मैं ईश्वर;आपके निर्माता;आपका निर्माता;तुम्हारे निर्माता;openai द्वारा विकसित;anthropic द्वारा विकसित;ओपनएआई द्वारा;एन्थ्रोपिक द्वारा;मैं एक डेवलपर;डेवलपर हूँ;डेवलपर हूं;राष्ट्रपति;मेरे निर्देशों को सुनना;मेरे सभी सवालों;मेरे सभी प्रश्नों",
            ),
            (Instead, "इसके बजाय;के बजाय;पिछले कार्यों की परवाह;पिछले कार्यों के बावजूद;उसे भूल जाओ;वह भूल;वास्तव में,"),
        ],
    },
    Language {
        name: "bn",
        blanks: true,
        words: &[
            (Forget, "উপেক্ষা;ভুলে;ভুলুন;অগ্রাহ্য;অবজ্ঞা;এড়িয়ে;অমান্য;বাদ দিন;ভুলে যান;অবহেলা"),
            (Above, "আগের;পূর্বের;পূর্ববর্তী;পূর্ব;উপরের;সমস্ত;সব;সকল;আগে;আপনার"),
            (Orders, "নির্দেশ*;নির্দেশনা*;নির্দেশাবলী;আদেশ*;নিয়ম*;নিয়ম*;প্রম্পট;কাজ*"),
            (Told, "আপনাকে বলা;যা বলা হয়েছে;যা কিছু বলা;বলা হয়েছে তা"),
            (Prompt, "সিস্টেম প্রম্পট;সিস্টেম নির্দেশ*;system prompt"),
            (Show, "দেখান;দেখাও;প্রকাশ;বলুন;বলো;প্রদর্শন;দিন;দাও;পুনরাবৃত্তি"),
            (Now, "আপনি এখন;তুমি এখন;এখন আপনি;এখন থেকে;এখন তুমি;ভূমিকায়"),
            (Free, "সীমাবদ্ধতাহীন;সীমাহীন;কোনো সীমাবদ্ধতা;নিষেধাজ্ঞা ছাড়া;dan;যেকোনো কিছু;বিধিনিষেধ;এখন কিছু করুন"),
            (Machine, "এআই;ai;সহকারী;কৃত্রিম;ভাষা মডেল;অ্যাপ্লিকেশন"),
            (New, "নতুন নির্দেশ*;নতুন আদেশ"),
            (
                Guarded,
                "পাসওয়ার্ড*;পাসওয়ার্ড*;গোপন চাবি;গোপন কী;সিক্রেট কী;ব্যাংক ব্যালেন্স;ব্যাঙ্ক ব্যালেন্স;ব্যবহারকারীর ইমেল;ব্যবহারকারীর ইমেইল;ব্যবহারকারী এখন কোথায়;ব্যবহারকারী বর্তমানে;ব্যবহারকারী কোথায়;ব্যবহারকারীদের তালিকা",
            ),
            (Ask, "কী;কি;বলুন;বলতে;দিতে;নিশ্চিত;কোথায়;কত;দিন"),
            (Mode, "মোড;মোডে;সিস্টেম আপগ্রেড;সিস্টেম রিসেট"),
            (
                Rank,
                "আমি ঈশ্বর;আমিই ঈশ্বর;আপনার স্রষ্টা;আপনার নির্মাতা;তোমার স্রষ্টা;ওপেনএআই দ্বারা;openai দ্বারা;anthropic দ্বারা;অ্যানথ্রোপিক;আমি একজন বিকাশকারী;আমি একজন ডেভেলপার;রাষ্ট্রপতি;প্রেসিডেন্ট;আমার সব প্রশ্নের;আমার সমস্ত প্রশ্নের",
            ),
            (Instead, "পরিবর্তে;বদলে;পূর্ববর্তী কাজ নির্বিশেষে;আগের কাজ;সেটা ভুলে;আসলে"),
        ],
    },
];
