"""Kinds of files that people have and that no rule was written for; each is read with nothing said but its language."""

from __future__ import annotations

import gzip
import json
import sqlite3
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import openpyxl
import pytest

from adage.corpus import inspect, read
from adage.language import load


class Kind(NamedTuple):
    """A file, and what must be found in it."""

    language: str
    name: str
    content: bytes | Callable[[Path], None]
    records: int
    explained: int
    first: str
    """Text of the first good row."""
    explanation: str = ""
    """Beginning of its explanation."""
    format: str = ""
    encoding: str = ""
    rejected: int = 0


def sheet(*rows: Sequence[str | int], title: str = "Sheet1") -> Callable[[Path], None]:
    """A writer of a workbook of one sheet."""

    def write(path: Path) -> None:
        book = openpyxl.Workbook()
        assert book.active is not None
        book.active.title = title
        for row in rows:
            book.active.append(row)
        book.save(path)

    return write


def lines(*texts: str, encoding: str = "utf-8", end: str = "\n") -> bytes:
    """The texts as lines."""
    return end.join([*texts, ""]).encode(encoding)


def joined_tables(path: Path) -> None:
    """Write a database whose explanations stand in a table of their own."""
    sayings = [
        "Ada gula ada semut",
        "Air beriak tanda tak dalam",
        "Bagai air di daun talas",
        "Besar pasak daripada tiang",
    ]
    meanings = [
        (4, "Belanja lebih banyak daripada penghasilan yang didapat"),
        (1, "Di mana ada kesenangan di situ banyak orang datang"),
        (3, "Orang yang tidak tetap pendiriannya dan mudah berubah"),
        (2, "Orang yang banyak bicara biasanya kurang ilmunya"),
        (2, "Yang sombong itu biasanya tidak berisi apa apa"),
    ]
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE peribahasa (id INTEGER, teks TEXT)")
    base.execute("CREATE TABLE arti (id INTEGER, peribahasa_id INTEGER, arti TEXT)")
    base.executemany("INSERT INTO peribahasa VALUES (?, ?)", enumerate(sayings, 1))
    base.executemany("INSERT INTO arti VALUES (?, ?, ?)", [(100 + n, *row) for n, row in enumerate(meanings)])
    base.commit()
    base.close()


def topics_in_zip(path: Path) -> None:
    """Write an archive of one table a topic."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README.md", "# Proverbs\n\nCollected by hand.\n")
        for topic, rows in {
            "famille": "Tel père, tel fils;Les enfants ressemblent souvent à leurs parents\n",
            "travail": "C'est en forgeant qu'on devient forgeron;On apprend un métier en le pratiquant longtemps\n"
            "Qui ne risque rien n'a rien;Sans prendre de risque, on ne gagne jamais rien\n",
        }.items():
            archive.writestr(f"proverbes/{topic}.csv", "proverbe;sens\n" + rows)


SWAHILI = {
    "m1": {"methali": "Haraka haraka haina baraka", "maana": "Kufanya jambo kwa pupa hakuleti mafanikio mazuri"},
    "m2": {"methali": "Asiyesikia la mkuu huvunjika guu", "maana": "Anayepuuza ushauri wa wakubwa hupata madhara"},
    "m3": {"methali": "Mgeni njoo mwenyeji apone", "maana": "Mgeni akija huleta neema kwa wenyeji wake"},
}
YORUBA = [
    {"owe": "Bí a bá ń gun iyán nínú odó", "english": "Even if one pounds yam inside the mortar, guests will come"},
    {
        "owe": "Àgbà kì í wà lọ́jà kí orí ọmọ tuntun wọ́",
        "english": "An elder does not stay in the market while a head hangs",
    },
    {"owe": "Ilé là ń wò kí a tó sọmọ lórúkọ", "english": "We look at the house before we name the child"},
]
BURMESE = ["ရေစီးကောင်းတုန်း ရေခပ်", "ကျွဲပါးစောင်းတီး", "ဆင်ပြောင်ကြီး အမြီးကျမှတစ်"]
NEPALI = [
    ["अचानोको पीर खुकुरीले जान्दैन", "दुःख पाउनेको पीडा दुःख दिनेले बुझ्दैन भन्ने हो"],
    ["हुने बिरुवाको चिल्लो पात", "भविष्यमा राम्रो हुने कुराको लक्षण पहिले नै देखिन्छ"],
    ["नाच्न नजान्ने आँगन टेढो", "आफ्नो कमजोरी लुकाउन अरूलाई दोष दिने बानी हो"],
]
FICTION_BOOK = """<?xml version="1.0" encoding="{encoding}"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0">
<description><title-info><genre>sayings</genre><book-title>Пословицы</book-title><lang>ru</lang></title-info></description>
<body><title><p>Пословицы русского народа</p></title>
<section><title><p>Труд</p></title>
<p>Без труда не вытащишь и рыбку из пруда.</p>
<p>Терпение и <emphasis>труд</emphasis> всё перетрут.</p>
<p>Глаза боятся, а руки делают.</p></section>
<section><title><p>Дружба</p></title>
<p>Не имей сто рублей, а имей сто друзей.</p>
<p>Старый друг лучше новых двух.</p></section>
</body></FictionBook>"""

KINDS = {
    "French table of semicolons from a Windows program": Kind(
        "fr",
        "proverbes.csv",
        lines(
            "N°;Proverbe;Signification",
            "1;À bon chat, bon rat;L'attaque et la défense sont d'égale habileté",
            "2;L'habit ne fait pas le moine;Il ne faut pas juger les gens sur leur apparence",
            "3;Pierre qui roule n'amasse pas mousse;À force de changer d'état, on ne s'enrichit guère",
            "4;Après la pluie, le beau temps;La joie succède souvent à la tristesse, même à Noël",
            encoding="cp1252",
            end="\r\n",
        ),
        4,
        4,
        "À bon chat, bon rat",
        "L'attaque",
        "delimited",
        "cp1252",
    ),
    "Persian workbook with two header rows": Kind(
        "fa",
        "zarb.xlsx",
        sheet(
            ("ردیف", "ضرب‌المثل", "معنی"),
            ("No.", "Proverb", "Meaning"),
            (1, "از تو حرکت از خدا برکت", "باید تلاش کرد تا خداوند هم یاری برساند"),
            (2, "آب که از سر گذشت چه یک وجب چه صد وجب", "وقتی کار از کار گذشت کم و زیاد آن فرقی ندارد"),
            (3, "هر که بامش بیش برفش بیشتر", "هر کس دارایی بیشتری دارد گرفتاری او بیشتر است"),
        ),
        4,
        3,
        "از تو حرکت از خدا برکت",
        "باید تلاش",
        "xlsx",
        rejected=1,
    ),
    "Thai list in TIS-620": Kind(
        "th",
        "supasit.txt",
        lines(
            "น้ำขึ้นให้รีบตัก",
            "กบเลือกนาย",
            "ขี่ช้างจับตั๊กแตน",
            "ไก่เห็นตีนงู งูเห็นนมไก่",
            "ช้าๆ ได้พร้าเล่มงาม",
            "ตำน้ำพริกละลายแม่น้ำ",
            encoding="tis-620",
        ),
        6,
        0,
        "น้ำขึ้นให้รีบตัก",
        "",
        "lines",
        "cp874",
    ),
    "Swahili objects under their ids": Kind(
        "sw",
        "methali.json",
        json.dumps(SWAHILI).encode(),
        3,
        3,
        "Haraka haraka haina baraka",
        "Kufanya",
        "json",
    ),
    "Swahili objects under their ids, in a field": Kind(
        "sw",
        "methali.json",
        json.dumps({"version": 2, "methali": SWAHILI}).encode(),
        3,
        3,
        "Haraka haraka haina baraka",
        "Kufanya",
        "json",
    ),
    "Hebrew document saved as text with bullets": Kind(
        "he",
        "pitgamim.txt",
        lines(
            "\ufeffפתגמים עממיים",
            "",
            "•\tאין חכם כבעל ניסיון",
            "•\tסוף מעשה במחשבה תחילה",
            "•\tאל תסתכל בקנקן אלא במה שיש בו",
            "•\tהתפוח לא נופל רחוק מהעץ",
            "•\tמי שטרח בערב שבת יאכל בשבת",
            end="\r\n",
        ),
        5,
        0,
        "אין חכם כבעל ניסיון",
        "",
        "lines",
        "utf-8-sig",
    ),
    "Hindi tabs with dandas and native numbers": Kind(
        "hi",
        "kahavat.tsv",
        lines(
            "१।\tनाच न जाने आँगन टेढ़ा।\tअपनी कमी छिपाने के लिए दूसरों को दोष देना।",
            "२।\tअब पछताए होत क्या जब चिड़िया चुग गई खेत।\tसमय निकल जाने पर पछताने से कोई लाभ नहीं होता।",
            "३।\tबंदर क्या जाने अदरक का स्वाद।\tअज्ञानी व्यक्ति अच्छी वस्तु का मूल्य नहीं समझ सकता।",
            "४।\tजैसी करनी वैसी भरनी।\tमनुष्य जैसा काम करता है उसे वैसा ही फल मिलता है।",
        ),
        4,
        4,
        "नाच न जाने आँगन टेढ़ा।",
        "अपनी कमी",
        "tsv",
    ),
    "Hindi list with danda numbers": Kind(
        "hi",
        "kahavat.txt",
        lines(
            "१। नाच न जाने आँगन टेढ़ा।",
            "२। अब पछताए होत क्या जब चिड़िया चुग गई खेत।",
            "३। बंदर क्या जाने अदरक का स्वाद।",
            "४। जैसी करनी वैसी भरनी।",
        ),
        4,
        0,
        "नाच न जाने आँगन टेढ़ा।",
        "",
        "lines",
    ),
    "Chinese table in GB 18030": Kind(
        "zh",
        "yanyu.csv",
        lines(
            "编号,谚语,释义",
            "1,一寸光阴一寸金,比喻时间十分宝贵，要好好珍惜。",
            "2,三个臭皮匠，顶个诸葛亮".replace("，", "、") + ",比喻人多智慧多，有事要多商量。",
            "3,不入虎穴焉得虎子,比喻不冒危险就不能得到成功。",
            "4,近朱者赤近墨者黑,比喻接近好人可以使人变好，接近坏人可以使人变坏。",
            encoding="gb18030",
            end="\r\n",
        ),
        4,
        4,
        "一寸光阴一寸金",
        "比喻时间",
        "csv",
        "gb18030",
    ),
    "Russian book in XML": Kind(
        "ru",
        "poslovicy.fb2",
        FICTION_BOOK.format(encoding="utf-8").encode(),
        5,
        0,
        "Без труда не вытащишь и рыбку из пруда.",
        "",
        "xml",
    ),
    "Russian book in XML of a Windows program": Kind(
        "ru",
        "poslovicy.fb2",
        FICTION_BOOK.format(encoding="windows-1251").encode("cp1251"),
        5,
        0,
        "Без труда не вытащишь и рыбку из пруда.",
        "",
        "xml",
        "cp1251",
    ),
    "Korean table in EUC-KR": Kind(
        "ko",
        "sokdam.csv",
        lines(
            "번호,속담,뜻",
            "1,가는 말이 고와야 오는 말이 곱다,내가 남에게 좋게 하여야 남도 나에게 좋게 한다는 말",
            "2,낮말은 새가 듣고 밤말은 쥐가 듣는다,아무도 없는 데서도 말조심해야 한다는 말",
            "3,등잔 밑이 어둡다,가까이 있는 것을 도리어 알아보지 못한다는 말",
            "4,소 잃고 외양간 고친다,일이 이미 잘못된 뒤에는 손을 써도 소용이 없다는 말",
            encoding="euc-kr",
        ),
        4,
        4,
        "가는 말이 고와야 오는 말이 곱다",
        "내가 남에게",
        "csv",
        "cp949",
    ),
    "Turkish list in ISO 8859-9": Kind(
        "tr",
        "atasozleri.txt",
        lines(
            "Ağaç yaşken eğilir",
            "Damlaya damlaya göl olur",
            "Gülü seven dikenine katlanır",
            "Işığı gören koşar",
            "İşleyen demir ışıldar",
            "Üzüm üzüme baka baka kararır",
            encoding="iso-8859-9",
        ),
        6,
        0,
        "Ağaç yaşken eğilir",
        "",
        "lines",
        "cp1254",
    ),
    "Spanish lines of proverb and meaning": Kind(
        "es",
        "refranes.txt",
        lines(
            "A caballo regalado no le mires el diente: Los regalos se agradecen sin buscarles defectos.",
            "Más vale tarde que nunca: Es mejor que algo bueno llegue con retraso a que no llegue.",
            "Ojos que no ven, corazón que no siente: Lo que no se conoce no puede causar dolor.",
            "Cría cuervos y te sacarán los ojos: Quien favorece a gente ingrata acaba recibiendo daño.",
        ),
        4,
        4,
        "A caballo regalado no le mires el diente",
        "Los regalos",
        "glossary",
    ),
    "Vietnamese lines with meanings in brackets": Kind(
        "vi",
        "tucngu.txt",
        lines(
            "Có công mài sắt, có ngày nên kim (Kiên trì cố gắng thì việc khó đến đâu cũng thành công)",
            "Ăn quả nhớ kẻ trồng cây (Phải biết ơn những người đã giúp đỡ mình có được thành quả)",
            "Gần mực thì đen, gần đèn thì sáng (Môi trường sống ảnh hưởng lớn đến tính cách con người)",
            "Uống nước nhớ nguồn (Hưởng thụ điều gì thì phải nhớ đến nguồn gốc của nó)",
        ),
        4,
        4,
        "Có công mài sắt, có ngày nên kim",
        "Kiên trì",
        "glossary",
    ),
    "Tigrinya workbook with an English title": Kind(
        "ti",
        "misla.xlsx",
        sheet(
            ("Tigrinya proverbs, collected in Keren",),
            (),
            ("ቁጽሪ", "ምስላ", "ትርጉም"),
            (1, "ሓደ ኢድ ኣየጣቕዕን", "ምትሕግጋዝ ከም ዘድሊ የረድእ"),
            (2, "ቀስ ብቐስ እንቋቑሖ ብእግራ ትኸይድ", "ብትዕግስቲ ኩሉ ከም ዝፍጸም ይሕብር"),
            (3, "ዘይነገሩኻ ኣይትስማዕ", "ዘይምልከተካ ነገር ኣይትእቶ ማለት እዩ"),
        ),
        3,
        3,
        "ሓደ ኢድ ኣየጣቕዕን",
        "ምትሕግጋዝ",
        "xlsx",
    ),
    "Urdu table in UTF-16": Kind(
        "ur",
        "kahawat.csv",
        lines(
            "کہاوت,مطلب",
            "آم کے آم گٹھلیوں کے دام,ایک کام سے دو فائدے حاصل ہونا",
            "اونٹ کے منہ میں زیرہ,ضرورت کے مقابلے میں بہت کم چیز ملنا",
            "ناچ نہ جانے آنگن ٹیڑھا,اپنی کمی چھپانے کے لیے دوسروں کو الزام دینا",
            encoding="utf-16",
            end="\r\n",
        ),
        3,
        3,
        "آم کے آم گٹھلیوں کے دام",
        "ایک کام",
        "csv",
        "utf-16",
    ),
    "Greek numbered list in ISO 8859-7": Kind(
        "el",
        "paroimies.txt",
        lines(
            "1. Όποιος βιάζεται σκοντάφτει",
            "2. Φασούλι το φασούλι γεμίζει το σακούλι",
            "3. Ο λύκος στην αναμπουμπούλα χαίρεται",
            "4. Κάλλιο αργά παρά ποτέ",
            "5. Μάθε τέχνη κι άσ' τηνε",
            encoding="iso-8859-7",
        ),
        5,
        0,
        "Όποιος βιάζεται σκοντάφτει",
        "",
        "lines",
    ),
    "Polish tabs from a Windows program": Kind(
        "pl",
        "przyslowia.txt",
        lines(
            "przysłowie\tznaczenie",
            "Gdzie kucharek sześć, tam nie ma co jeść\tGdy wielu ludzi robi jedno, nikt nie czuje się odpowiedzialny",
            "Kto pod kim dołki kopie, ten sam w nie wpada\tKto chce zaszkodzić innym, często szkodzi sobie",
            "Nie chwal dnia przed zachodem słońca\tNie należy cieszyć się zbyt wcześnie z powodzenia",
            encoding="cp1250",
            end="\r\n",
        ),
        3,
        3,
        "Gdzie kucharek sześć, tam nie ma co jeść",
        "Gdy wielu",
        "tsv",
        "cp1250",
    ),
    "Yoruba lines of JSON with English translations": Kind(
        "yo",
        "owe.jsonl",
        lines(*(json.dumps(row, ensure_ascii=False) for row in YORUBA)),
        3,
        0,
        "Bí a bá ń gun iyán nínú odó",
        "",
        "jsonl",
    ),
    "Amharic YAML": Kind(
        "am",
        "teret.yaml",
        lines(
            "title: ተረትና ምሳሌ",
            "proverbs:",
            "  - text: ሀምሳ ሎሚ ለአንድ ሰው ሸክሙ ነው ለሀምሳ ሰው ጌጡ ነው",
            "    meaning: ሥራን ተካፍለው ሲሠሩት ይቀላል",
            "  - text: ቀስ በቀስ እንቁላል በእግሩ ይሄዳል",
            "    meaning: በትዕግስት የማይሆን ነገር የለም",
            "  - text: ድር ቢያብር አንበሳ ያስር",
            "    meaning: አንድነት ኃይል መሆኑን ያሳያል",
        ),
        3,
        3,
        "ሀምሳ ሎሚ ለአንድ ሰው ሸክሙ ነው ለሀምሳ ሰው ጌጡ ነው",
        "ሥራን",
        "yaml",
    ),
    "Japanese tabs in Shift JIS with readings": Kind(
        "ja",
        "kotowaza.tsv",
        lines(
            "見出し\tよみ\t意味",
            "石の上にも三年\tいしのうえにもさんねん\t辛抱すれば必ず成し遂げられるということ。",
            "猿も木から落ちる\tさるもきからおちる\tその道の名人でも失敗することがあるということ。",
            "七転び八起き\tななころびやおき\t何度失敗してもあきらめずに立ち上がること。",
            encoding="cp932",
            end="\r\n",
        ),
        3,
        3,
        "石の上にも三年",
        "辛抱",
        "tsv",
        "cp932",
    ),
    "Georgian list with a blank line after each": Kind(
        "ka",
        "andazebi.txt",
        lines(
            "რასაც დასთეს იმას მოიმკი", "", "ძალა ერთობაშია", "", "შენი ჭირიმე ენა ტკბილი", "", "კარგი თქმა ვერცხლია"
        ),
        4,
        0,
        "რასაც დასთეს იმას მოიმკი",
        "",
        "lines",
    ),
    "Bengali table in Markdown": Kind(
        "bn",
        "probad.md",
        lines(
            "# প্রবাদ",
            "",
            "| প্রবাদ | অর্থ |",
            "| --- | --- |",
            "| অতি লোভে তাঁতি নষ্ট | বেশি লোভ করলে সব কিছু হারাতে হয় |",
            "| নাচতে না জানলে উঠান বাঁকা | নিজের দোষ ঢাকতে অন্যের উপর দোষ দেওয়া |",
            "| যত গর্জে তত বর্ষে না | যারা বেশি কথা বলে তারা কাজ করে কম |",
        ),
        3,
        3,
        "অতি লোভে তাঁতি নষ্ট",
        "বেশি লোভ",
        "markdown table",
    ),
    "Indonesian database with meanings in a second table": Kind(
        "id",
        "peribahasa.sqlite",
        joined_tables,
        4,
        4,
        "Ada gula ada semut",
        "Di mana ada",
        "sqlite",
    ),
    "French tables by topic in an archive": Kind(
        "fr",
        "proverbes.zip",
        topics_in_zip,
        3,
        3,
        "Tel père, tel fils",
        "Les enfants",
        "zip of delimited",
    ),
    "Ukrainian list in KOI8-U": Kind(
        "uk",
        "prysliv.txt",
        lines(
            "Без труда нема плода",
            "Де сила не може, там розум поможе",
            "Гість першого дня золото, другого срібло",
            "Їжа їжею, а діло ділом",
            "Хто рано встає, тому Бог дає",
            encoding="koi8_u",
        ),
        5,
        0,
        "Без труда нема плода",
        "",
        "lines",
        "koi8_u",
    ),
    "Arabic table with Excel's line about its delimiter": Kind(
        "ar",
        "amthal.csv",
        lines(
            "sep=;",
            "المثل;الشرح",
            "من جد وجد;من اجتهد في عمله بلغ ما يريد من النجاح",
            "الوقت كالسيف;الوقت ثمين فعلى المرء أن يحسن استغلاله",
            "خير الأمور أوسطها;الاعتدال أفضل من المبالغة في كل شيء",
            encoding="utf-8-sig",
            end="\r\n",
        ),
        3,
        3,
        "من جد وجد",
        "من اجتهد",
        "delimited",
        "utf-8-sig",
    ),
    "Nepali pairs in JSON lists": Kind(
        "ne",
        "ukhan.json",
        json.dumps(NEPALI).encode(),
        3,
        3,
        NEPALI[0][0],
        "दुःख",
        "json",
    ),
    "Swedish lines with a dash": Kind(
        "sv",
        "ordsprak.txt",
        lines(
            "Borta bra men hemma bäst – Det är trevligt att resa, men hemmet är ändå bäst av allt",
            "Man ska inte köpa grisen i säcken – Undersök alltid det du köper innan du betalar för det",
            "Liten tuva stjälper ofta stort lass – Ett litet hinder kan förstöra ett stort företag",
        ),
        3,
        3,
        "Borta bra men hemma bäst",
        "Det är",
        "glossary",
    ),
    "Portuguese pipes, compressed": Kind(
        "pt",
        "ditados.psv.gz",
        gzip.compress(
            lines(
                "id|ditado|significado",
                "1|Água mole em pedra dura, tanto bate até que fura|A persistência vence as maiores dificuldades",
                "2|Quem não tem cão caça com gato|Na falta do ideal, usa-se o que está disponível",
                "3|De grão em grão a galinha enche o papo|Aos poucos se consegue juntar muita coisa",
            )
        ),
        3,
        3,
        "Água mole em pedra dura, tanto bate até que fura",
        "A persistência",
        "delimited",
    ),
    "German quoted cells with line breaks": Kind(
        "de",
        "sprichwoerter.csv",
        lines(
            '"Sprichwort","Bedeutung"',
            '"Aller Anfang ist schwer","Was man neu beginnt,\nfällt einem zuerst nicht leicht"',
            '"Wer ""A"" sagt, muss auch ""B"" sagen","Wer etwas beginnt, soll es auch zu Ende führen"',
            '"Übung macht den Meister","Durch Wiederholung wird man in einer Sache immer besser"',
        ),
        3,
        3,
        "Aller Anfang ist schwer",
        "Was man neu beginnt, fällt",
        "csv",
    ),
    "Swahili table explained in German": Kind(
        "sw",
        "methali.csv",
        lines(
            "methali,maana",
            "Haraka haraka haina baraka,Wer sich zu sehr beeilt der erreicht am Ende weniger als die anderen",
            "Mgeni njoo mwenyeji apone,Ein Gast bringt dem Haus Segen und alle haben etwas davon",
            "Haba na haba hujaza kibaba,Viele kleine Dinge ergeben nach und nach etwas Großes",
            "Asiyesikia la mkuu huvunjika guu,Wer nicht auf die Älteren hört wird später Schaden nehmen",
        ),
        4,
        0,
        "Haraka haraka haina baraka",
    ),
    "Ukrainian table explained in Russian": Kind(
        "uk",
        "prysliv.csv",
        lines(
            "text,explanation",
            "Без труда нема плода,Чтобы чего-нибудь достичь нужно много и упорно работать каждый день",
            "Хто рано встає тому Бог дає,Тот кто начинает работу рано успевает сделать больше остальных людей",
            "Гість першого дня золото,Сначала гостю очень рады но потом он становится обузой для хозяев",
        ),
        3,
        0,
        "Без труда нема плода",
    ),
    "Burmese lists of one JSON file joined by id": Kind(
        "my",
        "sagabon.json",
        json.dumps(
            {
                "proverbs": [{"proverb_id": n, "proverb": text} for n, text in enumerate(BURMESE, 1)],
                "meanings": [
                    {"proverb_id": n, "meaning": f"{text} ဆိုသည်မှာ သတိထားရန် ဖြစ်သည်"}
                    for n, text in ((2, "ကျွဲပါးစောင်းတီး"), (1, "ရေစီးကောင်းတုန်း"))
                ],
            }
        ).encode(),
        3,
        2,
        BURMESE[0],
    ),
    "English lists under topics in records": Kind(
        "en",
        "topics.json",
        json.dumps(
            [
                {
                    "topic": "time",
                    "proverbs": ["Time and tide wait for no man", "Better late than never", "Time flies fast"],
                },
                {"topic": "work", "proverbs": ["Many hands make light work", "No pain no gain at all"]},
            ]
        ).encode(),
        5,
        0,
        "Time and tide wait for no man",
    ),
    "Malay array in PHP": Kind(
        "ms",
        "data.php",
        lines(
            "<?php",
            "return [",
            "  ['peribahasa' => 'Bagai aur dengan tebing', 'maksud' => 'Saling tolong menolong sesama jiran'],",
            "  ['peribahasa' => 'Seperti katak di bawah tempurung', 'maksud' => 'Orang yang cetek pengetahuan'],",
            "];",
        ),
        2,
        2,
        "Bagai aur dengan tebing",
        "Saling",
        "source",
    ),
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_kinds(tmp_path: Path, kind: Kind) -> None:
    """Every record is counted, its proverb and explanation are found, and the file is called ready."""
    file = tmp_path / kind.name
    if callable(kind.content):
        kind.content(file)
    else:
        file.write_bytes(kind.content)
    language = load(kind.language)
    seen, reading = inspect(file, language), read(file, language)
    row = next(row for row in reading.rows if not row.rejected)
    assert (seen.records, seen.rejected, seen.native_explained) == (kind.records, kind.rejected, kind.explained)
    assert row.text == kind.first
    assert "".join(row.explanations[:1]).startswith(kind.explanation)
    assert seen.format == (kind.format or seen.format)
    assert seen.encoding == (kind.encoding or seen.encoding)
    assert seen.verdict == "ready"
