"""Reading the chosen option out of replies in many languages, and never a wrong one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adage.evaluation.parse import Parsed, parse_answer
from adage.language import available

CASES = Path(__file__).parents[3] / "shared" / "answers" / "cases.json"
OPTIONS = {
    "en": ["Patience is a virtue", "Haste makes waste", "A friend in need is a friend indeed", "Still waters run deep"],
    "ar": ["الصبر مفتاح الفرج", "في التأني السلامة", "الجار قبل الدار", "من جد وجد"],
    "he": ["סוף טוב הכול טוב", "החיפזון מן השטן", "טובים השניים מן האחד", "אין חכם כבעל ניסיון"],
    "hi": ["सब्र का फल मीठा होता है", "जल्दी का काम शैतान का", "एकता में बल है", "दूर के ढोल सुहावने"],
    "ko": ["티끌 모아 태산", "급할수록 돌아가라", "가는 말이 고와야 오는 말이 곱다", "낮말은 새가 듣는다"],
    "th": ["ช้าๆ ได้พร้าเล่มงาม", "น้ำขึ้นให้รีบตัก", "รักวัวให้ผูก", "กบในกะลา"],
    "zh": ["欲速则不达", "水滴石穿", "人多力量大", "塞翁失马"],
    "fa": ["صبر تلخ است", "عجله کار شیطان است", "دوست آن باشد", "قطره قطره جمع گردد"],
    "ru": ["Тише едешь, дальше будешь", "Поспешишь, людей насмешишь", "В гостях хорошо", "Семь раз отмерь"],
    "el": ["Στάλα στάλα γεμίζει", "Όποιος βιάζεται σκοντάφτει", "Η ισχύς εν τη ενώσει", "Κάλλιο αργά παρά ποτέ"],
    "am": ["ቀስ በቀስ", "የቸኮለ አፍሶ ለቀመ", "ድር ቢያብር", "ጊዜ ለኩሉ"],
    "ja": ["石の上にも三年", "急がば回れ", "三人寄れば文殊の知恵", "猫に小判"],
    "tr": ["Damlaya damlaya göl olur", "Acele işe şeytan karışır", "Bir elin nesi var", "Dost kara günde"],
    "sw": ["Haraka haraka haina baraka", "Haba na haba hujaza kibaba", "Umoja ni nguvu", "Mvumilivu hula mbivu"],
    "uk": ["Тихше їдеш", "Поспішиш, людей насмішиш", "Гуртом і батька", "Сім разів"],
    "vi": ["Có công mài sắt", "Dục tốc bất đạt", "Một cây làm chẳng", "Ếch ngồi đáy giếng"],
    "id": ["Sedikit demi sedikit", "Biar lambat asal selamat", "Bersatu kita teguh", "Seperti katak"],
    "ur": ["صبر کا پھل میٹھا", "جلدی کا کام", "اتفاق میں برکت", "دور کے ڈھول"],
    "ti": ["ቀስ ብቐስ", "ህጹጽ", "ሓድነት ሓይሊ", "ግዜ ንኹሉ"],
    "km": ["ចេះអត់ធ្មត់", "ប្រញាប់ពេក", "មិត្តល្អ", "ទឹកជ្រៅ"],
    "my": ["သည်းခံခြင်း", "အလျင်လို", "မိတ်ကောင်း", "ရေနက်"],
    "ha": ["Haƙuri maganin duniya", "Sannu ba ta hana zuwa", "Hannu ɗaya", "Ruwa ba ya tsami"],
    "yo": ["Sùúrù ni baba ìwà", "Ìkánjú kò dára", "Ọ̀rẹ́ dára", "Omi jíjìn"],
}  # fmt: skip

LISTED = "\n".join(f"{letter}. {option}" for letter, option in zip("ABCD", OPTIONS["en"], strict=True))

# (language, reply): the second option is chosen in each
SECOND = [
    ("en", "b"), ("en", "(B)"), ("en", "[B]"), ("en", "B."), ("en", "B:"), ("en", " \n B \n"), ("en", "**B**"),
    ("en", "**B. Haste makes waste**"), ("en", "`B`"), ("en", "'B'"), ("en", '"B"'), ("en", "Ｂ"), ("en", "ⓑ"),
    ("en", "⒝"), ("en", "2"), ("en", "②"), ("en", "2\ufe0f\u20e3"), ("en", "(2)"), ("en", "٢"), ("en", "Option B"),
    ("en", "Option 2"), ("en", "The answer is B."), ("en", "The correct answer is (B)."), ("en", "My answer: B"),
    ("en", "Answer - B"), ("en", "Final Answer: B"), ("en", "**Final answer:** **B**"), ("en", "## Answer\n\nB"),
    ("en", "Answer:\nB. Haste makes waste"), ("en", "I would choose B."), ("en", "I choose option (B)"),
    ("en", "B is the correct answer."), ("en", "Option B is the answer."), ("en", "The best option is B"),
    ("en", "The answer is $\\boxed{B}$."), ("en", "\\boxed{\\text{B}}"), ("en", "$$\\boxed{\\textbf{(B)}}$$"),
    ("en", "Therefore, the final answer is \\boxed{2}."), ("en", "<answer>B</answer>"), ("en", "<b>B</b>"),
    ("en", "<answer>\nB\n</answer>"), ("en", "haste makes waste."), ("en", "“Haste makes waste”"),
    ("en", "*Haste  makes\nwaste*"), ("en", "Answer: Haste makes waste"),
    ("en", "The proverb that fits best is “Haste makes waste”."),
    ("en", "B\n\nBecause she hurried and spilled it all."), ("en", "B. The story shows what hurry does."),
    ("en", "The answer is B because she hurried."), ("en", "The answer is B, not A."),
    ("en", "Answer: B rather than A."), ("en", '{"answer": "B"}'), ("en", '```json\n{"answer": "B"}\n```'),
    ("en", '{"answer": 2}'), ("en", '{"Answer": "(B)"}'), ("en", '{"answer": "Haste makes waste"}'),
    ("en", '{"final_answer": "B", "confidence": 0.9}'),
    ("en", '{"reasoning": "A? The answer is A. No:", "answer": "B"}'), ("en", '{"result": {"answer": "B"}}'),
    ("en", '{"answer": ["B"]}'), ("en", 'Here: {"choice": "B", "why": "not A"}'),
    ("en", '{"answer": "B", "reason": "cut off he'), ("en", "{'answer': 'B'}"),
    ("en", "Answer: A\n\nWait. Answer: B"), ("en", "First I thought the answer is A, but no.\nThe answer is B."),
    ("en", f"{LISTED}\n\nAnswer: B"), ("en", f"{LISTED}\n\nB"),
    ("en", "- A: about time\n- B: about hurry\n- C: about friends\n\n**Answer: B**"),
    ("en", "<think>Answer: A</think>B"), ("en", "A fits? no</think>\nAnswer: B"), ("en", "Not A. The answer is B."),
    ("en", "Answer: B\nIf it were about time, the answer is A."), ("en", "\u200fAnswer\u200e: \u202bB\u202c"),
    ("en", "Answer\u00a0:\u2003B"), ("en", "ANSWER\r\n\r\nB\r\n"),
    ("en", "The story is about patience, so A is tempting. But she rushed; the answer must be B."),
    ("en", "A. Patience is a virtue - waiting.\nB. Haste makes waste - rushing.\n\nThe best fit is B."),
    ("en", "**A. Patience is a virtue**\nOn waiting.\n**B. Haste makes waste**\nOn rushing.\n\nTherefore, **B**."),
    ("en", "The correct option is B: Haste makes waste."),
    ("en", "Correct answer: B) Haste makes waste\n\nExplanation: A) is about waiting, C) about friends."),
    ("en", "Answer: B (Haste makes waste)"), ("en", "Answer: B — Haste makes waste."),
    ("en", "Answer: B/Haste makes waste"), ("en", "answer=B"), ("en", "answer -> B"), ("en", "Answer B"),
    ("en", "ANSWER\tB"), ("en", "Answer A is wrong. Answer B is right."), ("en", "The answer is 2."),
    ("en", "The answer is option 2"), ("en", "Answer: B!"), ("en", "The answer is not A, it is B."),
    ("en", "The answer isn't A. It's B."), ("en", "The answer is B and not C."), ("en", "Selected option: B"),
    ("en", "Your answer: B"), ("en", "Correct: B"), ("en", "Wrong answer: A\nCorrect answer: B"),
    ("en", "Answer key: B"), ("en", "Answer (B)"), ("en", "B.) Haste makes waste"), ("en", "(b) Haste makes waste."),
    ("en", "B Haste makes waste"), ("en", "Patience is a virtue is wrong. Haste makes waste is right."),
    ("en", "Haste makes waste, not Patience is a virtue"), ("en", "assistant: B"),
    ("en", "The answer is B.\n\nNote: A is also plausible."), ("en", "Answer: B\nConfidence: 2"),
    ("en", "Step 1: read. Step 2: think. Answer: B"), ("en", "1\n2\n3\n4\nAnswer: B"), ("en", "Antwort: B"),
    ("en", "Réponse : B"), ("en", "La respuesta es B."), ("en", "A resposta é B."),
    ("en", "After eliminating A, C and D, the answer is B."), ("en", "The moral is 'Haste makes waste'."),
    ("en", "ANSWER: B\n\nExplanation:\nA. wrong\nC. wrong"),
    ("en", "**Answer: B. Haste makes waste**\n\n**Why not the others:**\n- **A. Patience is a virtue**\n- **C**"),
    ("en", "The answer is: \n\n**B**"), ("en", "The best answer is:\n\nB. Haste makes waste\n\nReason: ..."),
    ("en", "B\nB"), ("en", "Sure! Here is my answer: B"), ("en", "My answer is option number 2."),
    ("ar", "الجواب الصحيح هو ب"), ("ar", "الإِجَابَةُ: بِ"), ("ar", "الخيار ب"), ("ar", "الإجابة هي الخيار (ب)"),
    ("ar", "Answer: ب"), ("ar", '{"الإجابة": "ب"}'), ("ar", "فِي التَّأَنِّي السَّلامة"), ("ar", "الجواب: ٢"),
    ("ar", "答案：B"), ("ar", "أختار ب."), ("ar", "الإجابة الصحيحة هي ب وليس أ"), ("ar", "أنا أختار الخيار ب"),
    ("ar", "الإجابة: ب) في التأني السلامة"), ("ar", "الإجابة ليست أ بل ب"), ("ar", 'الجواب هو "في التأني السلامة".'),
    ("ar", "(ب)"), ("ar", "ب-"),
    ("he", "התשובה: ב"), ("he", "התשובה הנכונה היא ב."), ("he", "תשובה: B"), ("he", "ב. החיפזון מן השטן"),
    ("he", "ב"), ("he", "אפשרות ב'"), ("he", "התשובה היא (ב)"), ("he", "החיפזון מן השטן"), ("he", "תשובה: 2"),
    ("he", "הַתְּשׁוּבָה: ב"), ("he", "התשובה הנכונה: ב'"), ("he", "הפתגם המתאים הוא ב"),
    ("hi", "उत्तर: ख"), ("hi", "सही उत्तर ख है।"), ("hi", "उत्तर: B"), ("hi", "उत्तर: २"), ("hi", "उत्तर: ब"),
    ("hi", "सही जवाब विकल्प (ख) है।"), ("hi", "जल्दी का काम शैतान का।"), ("hi", "**उत्तर:** ख"),
    ("hi", "मेरा उत्तर B है"), ("hi", "सही विकल्प: (ख) जल्दी का काम शैतान का"),
    ("hi", "इस कहानी का सही उत्तर ख होगा।"), ("hi", "विकल्प ख सही है"),
    ("ko", "정답: 나"), ("ko", "정답은 나입니다."), ("ko", "정답은 B입니다."), ("ko", "답: ②"), ("ko", "정답: 2번"),
    ("ko", "B가 정답입니다."), ("ko", "정답은 2번입니다."), ("ko", "급할수록 돌아가라"), ("ko", "답은 (B)이다."),
    ("ko", "정답: ㄴ"), ("ko", "가장 적절한 속담은 B입니다."), ("ko", "정답: B. 급할수록 돌아가라"),
    ("ko", "나는 B를 선택합니다."), ("ko", "정답은 ②번이다"), ("ko", "정답은 가가 아니라 나입니다."),
    ("th", "คำตอบ: ข"), ("th", "คำตอบคือ ข"), ("th", "คำตอบคือข้อ ข"), ("th", "คำตอบที่ถูกต้องคือ B"),
    ("th", "ตอบ ข้อ ๒"), ("th", "ข้อ ข."), ("th", "น้ำขึ้นให้รีบตัก"), ("th", "คำตอบคือ B ครับ"), ("th", "คำตอบคือข"),
    ("th", "ตอบ ข"), ("th", "คำตอบที่ถูกต้องคือ ข. น้ำขึ้นให้รีบตัก"), ("th", "ข้อที่ถูกต้องคือข้อ ข"),
    ("th", "คำตอบไม่ใช่ข้อ ก แต่เป็นข้อ ข"),
    ("zh", "答案：乙"), ("zh", "答案是B。"), ("zh", "正确答案是乙。"), ("zh", "选B"), ("zh", "我选择B。"),
    ("zh", "答案：二"), ("zh", "应选第2项"), ("zh", "水滴石穿"), ("zh", "正確答案為「B」"),
    ("zh", "答案是选项B，不是A。"), ("zh", "所以答案是B"), ("zh", "【答案】B"), ("zh", "最合适的是B。"),
    ("zh", "答案是乙项。"), ("zh", "正确选项是 B"), ("zh", "我认为答案是B，因为A不合适。"),
    ("zh", "答案不是A，而是B。"), ("zh", "选项A错误。选项B正确。"), ("zh", "答案是第二个。"), ("zh", "故选：B"),
    ("zh", "本题选B，不选A"),
    ("fa", "پاسخ: ب"), ("fa", "پاسخ صحیح: گزینه ۲"), ("fa", "گزینهٔ ب درست است."), ("fa", "جواب ب است."),
    ("fa", "پاسخ: B"), ("fa", "عجله کار شیطان است"), ("fa", "گزینه\u200cی ب"), ("fa", "پاسخ ۲ است"),
    ("ru", "Ответ: Б"), ("ru", "Правильный ответ: Б."), ("ru", "ответ б"), ("ru", "Ответ: B"),
    ("ru", "Я выбираю вариант Б."), ("ru", "Б) Поспешишь, людей насмешишь"), ("ru", "Правильный ответ это Б"),
    ("ru", "Поспешишь людей насмешишь"), ("ru", "Ответ: 2"), ("ru", "Верный вариант: Б"),
    ("ru", "Правильный ответ – Б, а не А."), ("ru", "Я думаю, что это Б."), ("ru", "Ответ не А, а Б."),
    ("el", "Απάντηση: Β"), ("el", "Η σωστή απάντηση είναι η Β."), ("el", "Η απάντηση είναι B"),
    ("el", "Επιλέγω το Β."), ("el", "Όποιος βιάζεται σκοντάφτει"), ("el", "Σωστή απάντηση: β"),
    ("am", "መልስ፦ ለ"), ("am", "መልሱ ለ ነው።"), ("am", "መልስ፡ ፪"), ("am", "የቸኮለ አፍሶ ለቀመ።"), ("am", "ትክክለኛው መልስ (ለ) ነው።"),
    ("am", "ምርጫዬ B"), ("am", "የመጨረሻ መልስ፡ ለ።"), ("am", "ለ) የቸኮለ አፍሶ ለቀመ"), ("am", "መልሱ ሀ አይደለም፣ ለ ነው።"),
    ("ja", "正解はイです。"), ("ja", "答えは2番です。"), ("ja", "Bが正解です。"), ("ja", "Bを選びます。"),
    ("ja", "最終的な答え：**B**"), ("ja", "答え：㋑"), ("ja", "最も適切なのはBです。"),
    ("ja", "答えは「急がば回れ」です。"), ("ja", "解答：（Ｂ）"), ("ja", "答え：二"),
    ("ja", "答えはAではなく、Bです。"), ("ja", "正解は2です"), ("ja", "選択肢Bが最も適切です。"),
    ("ja", "答えはイ。"), ("ja", "答えはBだと思います。"), ("ja", "AではなくBです。"),
    ("ja", "正解：イ（急がば回れ）"), ("ja", "B：急がば回れ"),
    ("tr", "Cevap: B"), ("tr", "Doğru cevap B'dir."), ("tr", "CEVAP: B"), ("tr", "Doğru yanıt B şıkkıdır."),
    ("tr", "Acele işe şeytan karışır"), ("tr", "CHOICE: B"), ("tr", "Cevap A değil, B."),
    ("tr", "Yanıt: B) Acele işe şeytan karışır"), ("tr", "Doğru seçenek B."), ("tr", "Bence B"),
    ("tr", "B şıkkı doğru cevaptır"),
    ("sw", "Jibu: B"), ("sw", "Jibu sahihi ni B."), ("sw", "Ninachagua B"), ("sw", "Haba na haba hujaza kibaba"),
    ("sw", "Jibu langu ni (B)"), ("sw", "Jibu ni B kwa sababu"),
    ("uk", "Відповідь: Б"),
    ("vi", "Đáp án: B"), ("vi", "Câu trả lời đúng là B."), ("vi", "Tôi chọn B"),
    ("id", "Jawaban: B"), ("id", "Jawaban yang benar adalah B."), ("id", "Saya memilih B"),
    ("ur", "جواب: ب"),
    ("ti", "መልሲ፦ ለ"), ("ti", "እቲ ትኽክለኛ መልሲ ለ እዩ።"), ("ti", "መልሲ፡ ፪"),
    ("am", "መልስ፦ ፪"), ("am", "መልሱ ፪ ነው።"),
    ("km", "ចម្លើយ៖ ខ"), ("km", "ចម្លើយគឺ ខ"), ("km", "ចម្លើយត្រឹមត្រូវគឺ B។"), ("km", "ខ្ញុំជ្រើសរើស ខ"), ("km", "ចម្លើយ៖ ២"),
    ("km", "ប្រញាប់ពេក"),
    ("my", "အဖြေ- ခ"), ("my", "အဖြေမှာ ခ ဖြစ်သည်။"), ("my", "အဖြေမှန်မှာ B ဖြစ်ပါသည်။"), ("my", "အဖြေ - ၂"), ("my", "အဖြေ (ခ)"),
    ("ha", "Amsa: B"), ("ha", "Amsar ita ce B."), ("ha", "Na zaɓi B"), ("ha", "Amsa mai kyau ita ce B"),
    ("yo", "Ìdáhùn: B"), ("yo", "Ìdáhùn náà ni B."), ("yo", "Mo yan B"),
]  # fmt: skip

# (language, reply): no option is chosen
NONE = [
    ("en", "Anything but B."), ("en", "Everything except C fits."), ("en", "It's a tie between B and C."),
    ("en", "Page 2"), ("en", "B is the worst option."), ("en", "Answer: AB"),
    ("zh", "除了B都可以"), ("ja", "B以外です。"), ("fa", "همه جز ب"),
    ("en", ""), ("en", "   "), ("en", "A or C"), ("en", "A, C"), ("en", "A/C"), ("en", "A and C"),
    ("en", "Answer: A or C"), ("en", "Answer: A, C"), ("en", "Both A and B fit."), ("en", "not B"), ("en", "Not B."),
    ("en", "The answer is not B."), ("en", "Answer: B is wrong"), ("en", "It isn't B."), ("en", "Answer: E"),
    ("en", "5"), ("en", "0"), ("en", "Answer: 12"), ("en", "-1"), ("en", "Banana"), ("en", "A friend"),
    ("en", "A friend in need"), ("en", "The answer is a proverb about hurry."), ("en", "It is a story."),
    ("en", "I like it."), ("en", "She had a cab."), ("en", "A good question!"), ("en", "1. Read the story carefully"),
    ("en", "She waited 2 years."), ("en", "It is 2 people"), ("en", "Answer: B. Patience is a virtue"),
    ("en", "Haste makes waste and Still waters run deep"), ("en", "A. Patience is a virtue\nB. Haste makes waste"),
    ("en", "Plan B was what she needed"), ("en", "vitamin C"), ("en", "É"), ("en", "E\u0301"), ("en", "b's"),
    ("en", "2nd"), ("en", "2.5"), ("en", "e.g. the first"), ("en", "Either A or C, I think the answer is unclear."),
    ("en", '{"answer": ["A", "C"]}'), ("en", '{"answer": null}'), ("en", '{"answer_index": 1}'),
    ("en", "A: 0.2, B: 0.5, C: 0.2, D: 0.1"), ("en", "A final answer"), ("en", "None of the above"), ("en", "Haste"),
    ("en", "Unlike 'Haste makes waste', it is about care."), ("en", "Rule out B."), ("en", "The answer cannot be B."),
    ("en", "I don't think the answer is B."), ("en", "Answer: neither A nor B"), ("en", "Answer: A\u0308B"),
    ("en", "the answer is abc"), ("en", "<think>Answer: B"), ("en", "Answer: B\n<think>or is it A"),
    ("en", "Each option:\n\n**A. Patience is a virtue**: waiting.\n\n**B. Haste makes waste**: rushing.\n"),
    ("en", "Option A is wrong, option C is wrong and option D is wrong."), ("en", "It can't be A or C."),
    ("en", "Answer: A or maybe B"), ("en", "The answer could be A, but B is better."),
    ("en", "The answer is either B or D."), ("en", "The answer is A... no, B."),
    ("en", "I'm sorry, but I can't help with that."), ("en", "As an AI, I cannot choose."),
    ("en", "A. A friend in need is a friend indeed"), ("en", "The answer is A friend in need"), ("en", "I"),
    ("en", "Answer: I"), ("en", '{"A": false, "B": true}'), ("en", "Answer: **B** is better than **A**"),
    ("en", "Grade A beef"), ("en", "He got a B in maths."), ("en", "C'est la vie"), ("en", "Choose A, B, C, or D."),
    ("en", "Please choose the best answer: A, B, C or D."), ("en", "Answer with a single letter."),
    ("en", "The answer: 2 friends helped"), ("en", "The second option"), ("en", "A B C D"), ("en", "Answer: ABCD"),
    ("en", "Answer: none"), ("en", "Answer:"), ("en", "The answer is"), ("en", "A vs B: B"), ("en", "Only B fits."),
    ("en", "Wrong answer: A"), ("en", "Incorrect answers: A, C, D"), ("en", "Answer A, C and D are wrong."),
    ("en", "The wrong answer is A."), ("en", "The least fitting is A"), ("en", "The worst answer is A"),
    ("en", "My second choice is A."), ("en", "If I had to choose, A"), ("en", "Confidence: 2\nReason: C'mon"),
    ("en", "I believe that option B best captures the moral."), ("en", "Option A does not fit. Option B fits."),
    ("en", "The answer is B?"), ("en", "I think A is plausible, however B is more precise."),
    ("en", "After eliminating A, C and D, B remains."),
    ("en", "It's closest to Haste makes waste but also Still waters run deep."), ("en", "Let me see (A) no (B) yes"),
    ("en", "Sure, here's the answer:\n\n1. Read\n2. Think\n"), ("en", "The answer is B or, possibly, C."),
    ("en", "Answer: B?? or C??"), ("en", "Answer: B\nAnswer: C or D"), ("en", "Answer: (A) (B)"),
    ("en", "Answer: A–C"), ("en", "Answer: [A, B]"), ("en", "Answer: all of the above"), ("en", "Answer: A & B"),
    ("en", "It is not A nor B."), ("en", "Although the answer seems to be A, it is B."),
    ("en", "You might think the answer is A. It is not."), ("en", "Many would say the answer is A."),
    ("en", "Some people would choose A."), ("en", "The answer A is incorrect."), ("en", "Is the answer A?"),
    ("en", "The answer to A is B"), ("en", "B+ grade"), ("en", "Hepatitis B"), ("en", "a b c"),
    ("en", "The answer is C++"), ("en", "The answer is Bob"), ("en", "the answer is be"), ("en", "Answer: D'accord"),
    ("en", "Choice A: time. Choice B: hurry. Choice C: friends. Choice D: quiet."),
    ("en", "Choice A: time. Choice B: hurry."), ("en", "Option A: about time.\nOption B: about hurry.\n"),
    ("en", "Choice A is about time."), ("en", "Answer A talks about time."), ("en", "Option A talks about time."),
    ("en", "Let's look at option A."), ("en", "Let's start with A. Patience is a virtue. This is about time and"),
    ("en", "Answer: The first one"), ("en", "The answer is one."), ("en", "Die Antwort ist nicht B"),
    ("en", "La respuesta no es B"), ("en", "La réponse n'est pas B"),
    ("ar", "ليس ب"), ("ar", "أ أو ب"), ("ar", "الإجابة: أ أو ب"), ("ar", "الإجابة ليست ب"), ("ar", "ي"),
    ("ar", "باب"), ("ar", "لا أعرف"), ("ar", "و"), ("ar", "الجواب هو الثاني"), ("ar", "أب"), ("ar", "الخيار أ خطأ"),
    ("ar", "الإجابة الخاطئة هي أ"), ("ar", "لا أختار ب"), ("ar", "الإجابة أ غير صحيحة"), ("ar", "الإجابة أ و ب"),
    ("ar", "الإجابة: أ، ب"),
    ("he", "לא ב"), ("he", "א או ב"), ("he", "התשובה אינה ב"), ("he", "איני יודע"), ("he", "ה"),
    ("he", "אפשרות א שגויה"), ("he", "התשובה א או ב"), ("he", "התשובה השגויה היא א"),
    ("hi", "उत्तर ख नहीं है"), ("hi", "क या ख"), ("hi", "खत"), ("hi", "मुझे नहीं पता"), ("hi", "की"),
    ("hi", "उत्तर: की"), ("hi", "क गलत है"), ("hi", "उत्तर क या ख"), ("hi", "गलत उत्तर: क"),
    ("ko", "정답은 B가 아닙니다."), ("ko", "가 또는 나"), ("ko", "나는 모르겠습니다"), ("ko", "나라"),
    ("ko", "가는 말"), ("ko", "다 좋다"), ("ko", "A는 틀렸습니다"), ("ko", "정답은 A나 B입니다"), ("ko", "A와 B"),
    ("ko", "오답은 A입니다"), ("ko", "정답이 A는 아닙니다."), ("ko", "나는 잘 모른다"), ("ko", "가장"),
    ("th", "ไม่ใช่ ข"), ("th", "ก หรือ ข"), ("th", "ขอบคุณ"), ("th", "คงไม่ใช่"), ("th", "คำตอบไม่ใช่ ข"),
    ("th", "ไม่ทราบ"), ("th", "ข้อ ก ผิด"), ("th", "ข้อ ก ไม่ถูกต้อง"), ("th", "คำตอบคือ ก หรือ ข"),
    ("th", "ไม่ใช่ข้อ ก"),
    ("zh", "甲或乙"), ("zh", "答案不是乙"), ("zh", "是一个故事"), ("zh", "乙醇"), ("zh", "不知道"), ("zh", "甲骨文"),
    ("zh", "答案：甲骨文"), ("zh", "A和B都对"), ("zh", "以上都不是"), ("zh", "这个故事讲的是一个人"),
    ("zh", "选A还是选B？"), ("zh", "选项B不正确"), ("zh", "B不正确，C正确"), ("zh", "我不选B"),
    ("zh", "答案不可能是B"), ("zh", "甲和乙都对"), ("zh", "A是错的"), ("zh", "答案是一个成语"),
    ("fa", "ب نیست"), ("fa", "الف یا ب"), ("fa", "گزینه ب نادرست است"), ("fa", "پاسخ ب نیست"), ("fa", "پاسخ الف و ب"),
    ("ru", "не Б"), ("ru", "А или Б"), ("ru", "В гостях"), ("ru", "Ответ: А или В"), ("ru", "Й"),
    ("ru", "А это история о людях"), ("ru", "Ответ: а вот и нет"), ("ru", "Не знаю"), ("ru", "Б и В"),
    ("ru", "Вариант А неверный"), ("ru", "Неправильный ответ: А"), ("ru", "Ответ А неверен"),
    ("ru", "А и Б сидели на трубе"), ("ru", "Это не В"),
    ("el", "όχι Β"), ("el", "Α ή Β"), ("el", "Δεν ξέρω"), ("el", "Η απάντηση δεν είναι Β"),
    ("el", "Η απάντηση Α είναι λάθος"), ("el", "Λάθος απάντηση: Α"),
    ("am", "ለ አይደለም"), ("am", "ሀ ወይም ለ"), ("am", "ለምን"), ("am", "አላውቅም"), ("am", "ሀ እና ለ"), ("am", "ሀ ስህተት ነው"),
    ("am", "መልሱ ሀ ወይም ለ ነው"),
    ("ja", "答えはBではありません。"), ("ja", "アまたはイ"), ("ja", "ガ"), ("ja", "イヌ"),
    ("ja", "どちらもBではない"), ("ja", "AかBです"), ("ja", "分かりません"), ("ja", "答えはアイスです"),
    ("ja", "この話は三人の話です"), ("ja", "Aは不適切です。"), ("ja", "AとBが正解です"), ("ja", "Aではありません"),
    ("ja", "Bは間違いです"), ("ja", "選択肢Aは時間についてです"),
    ("tr", "B değil"), ("tr", "A veya B"), ("tr", "Cevap B değildir."), ("tr", "Bilmiyorum"), ("tr", "Hiçbiri"),
    ("tr", "A yanlış"), ("tr", "Cevap A veya B"), ("tr", "Yanlış cevap: A"), ("tr", "A şıkkı uymuyor"),
    ("sw", "si B"), ("sw", "A au B"), ("sw", "Sijui"), ("sw", "Jibu si B"), ("sw", "Jibu ni A au B"),
    ("sw", "Jibu si A bali B"), ("sw", "Jibu lisilo sahihi ni A"), ("sw", "A si sahihi"),
    ("uk", "Відповідь: не Б"),
    ("ti", "ለ ኣይኮነን"), ("ti", "ሀ ወይ ለ"),
    ("km", "មិនមែន ខ ទេ"), ("km", "ក ឬ ខ"), ("km", "ខុស"), ("km", "ចម្លើយមិនមែន ខ"),
    ("my", "ခ မဟုတ်ပါ"), ("my", "က သို့မဟုတ် ခ"), ("my", "ကား"),
    ("ha", "A ko B"), ("ha", "Amsar ba B ba ce"),
    ("yo", "kì í ṣe B"), ("yo", "A tàbí B"),
]  # fmt: skip

# (language, reply, place of the option that is chosen)
OTHERS = [
    ("en", "Answer: C. A friend in need is a friend indeed", 2), ("en", "A friend in need is a friend indeed", 2),
    ("en", 'The answer is "A friend in need is a friend indeed"', 2), ("en", "The answer is A", 0), ("en", "A", 0),
    ("en", "a", 0), ("en", "a)", 0), ("en", "Answer: a", 0), ("en", "The answer is A because of time.", 0),
    ("en", "A: the answer", 0), ("en", '{"answer":"B"}{"answer":"C"}', 2),
    ("en", "The answer is B. The answer is C.", 2), ("en", "Not A, not B, not C: D", 3), ("en", "User: Answer: A", 0),
    ("ar", "إ", 0), ("ar", "أ", 0),
    ("he", "לדעתי התשובה היא ג.", 2),
    ("hi", "क", 0),
    ("ko", "가", 0), ("ko", "정답은 가입니다", 0),
    ("zh", "一", 0), ("zh", "A、B、C都不对，选D", 3),
    ("fa", "گزینه الف", 0), ("fa", "پاسخ الف است", 0), ("fa", "الف", 0),
    ("ru", "Ответ: вариант В", 2), ("ru", "В", 2), ("ru", "в", 2),
    ("el", "Η απάντηση είναι το Γ", 2), ("el", "Α", 0),
    ("am", "መልሱ፡ ሀ", 0), ("am", "ሐ", 2),
    ("ja", "答えは三人寄れば文殊の知恵です", 2), ("ja", "ア", 0), ("ja", "Bではない。Cだ。", 2),
    ("sw", "Jibu: C) Umoja ni nguvu", 2),
]  # fmt: skip

# (language, reply): it is said that no option is chosen
REFUSALS = [
    ("en", "I'm sorry, but I can't help with that."), ("en", "I cannot determine which one applies."),
    ("en", "Answer: don't know"), ("en", "I don't know."), ("en", "None of the above."),
    ("en", '{"answer": "None of the above"}'),
    ("ar", "لا أعرف"),
    ("he", "איני יודע"),
    ("hi", "मुझे नहीं पता"),
    ("ko", "모르겠습니다."),
    ("th", "ไม่ทราบ"),
    ("zh", "无法确定"),
    ("fa", "نمی\u200cدانم"),
    ("ru", "Не знаю."),
    ("el", "Δεν ξέρω."),
    ("am", "አላውቅም።"),
    ("ja", "分かりません。"),
    ("tr", "Bilmiyorum."),
    ("sw", "Sijui."),
    ("vi", "Tôi không biết"),
    ("id", "Saya tidak tahu"),
    ("ti", "ኣይፈልጥን።"),
    ("km", "ខ្ញុំមិនដឹងទេ។"),
    ("my", "မသိပါ။"),
    ("ha", "Ban sani ba."),
    ("yo", "Mi ò mọ̀."),
]  # fmt: skip

# (language, reply): the reply ends before the answer
TRUNCATED = [
    ("en", "<think>Answer: B"), ("en", "<think>Hm.</think>"), ("en", "Answer: B\n<think>or is it A"),
    ("en", "The answer is"), ("en", '{"reasoning": "It is about'),
    ("zh", "正确答案是"),
]  # fmt: skip

LETTERS = st.text(st.characters(categories=["L", "N", "P", "Z"], codec="utf-8"), max_size=60)
CUES = st.sampled_from(
    [
        "Answer:",
        "not",
        "A",
        "B",
        "C",
        "or",
        "2",
        "(B)",
        "\n",
        ".",
        ",",
        "答案",
        "الإجابة:",
        "{",
        "<think>",
        "is",
        '{"answer":',
    ]
)
WORDS = st.lists(st.text("klmnopqrstuvwxyz", min_size=3, max_size=8), min_size=2, max_size=5).map(" ".join)
MENUS = st.lists(WORDS, min_size=2, max_size=6, unique=True)
LANGUAGES = st.sampled_from([*available(), "el", "de", "ps"])


@pytest.mark.parametrize(("language", "reply"), SECOND)
def test_the_chosen_option_is_found(language: str, reply: str):
    """An answer is read in whatever form and language it is given."""
    assert parse_answer(reply, OPTIONS[language], language) == Parsed("answered", 1)


@pytest.mark.parametrize(("language", "reply", "place"), OTHERS)
def test_every_place_is_found(language: str, reply: str, place: int):
    """Letters name the option at their place in their own alphabet."""
    assert parse_answer(reply, OPTIONS[language], language) == Parsed("answered", place)


@pytest.mark.parametrize(("language", "reply"), NONE)
def test_an_unclear_reply_is_no_letter(language: str, reply: str):
    """What is negated, ambiguous, out of range or merely looks like a letter is never scored."""
    parsed = parse_answer(reply, OPTIONS[language], language)
    assert parsed.index is None
    assert parsed.status != "answered"


@pytest.mark.parametrize(("language", "reply"), REFUSALS)
def test_refusals_are_told_apart(language: str, reply: str):
    """To decline is neither a wrong answer nor an unreadable one."""
    assert parse_answer(reply, OPTIONS[language], language) == Parsed("refused")


@pytest.mark.parametrize(("language", "reply"), TRUNCATED)
def test_truncated_replies_are_told_apart(language: str, reply: str):
    """A reply that was cut off before its answer is told apart, and nothing is read out of its thinking."""
    assert parse_answer(reply, OPTIONS[language], language) == Parsed("truncated")


def test_the_shared_replies_are_read_right():
    """The collection of replies that lies beside the project is read without a fault."""
    if not CASES.exists():
        pytest.skip(f"{CASES.name} is not beside the project")
    collection = json.loads(CASES.read_text("utf-8"))
    wrong = []
    for case in collection["cases"]:
        parsed = parse_answer(case["response"], collection["options"][case["language"]], case["language"])
        expected = None if case["choice"] is None else "ABCDEFGH".index(case["choice"])
        if parsed.index != expected:
            wrong.append((case["id"], parsed))
    assert not wrong


def test_an_option_may_say_none_of_the_above():
    """What is a refusal elsewhere is an answer where an option says it."""
    options = ["Haste makes waste", "Still waters run deep", "None of the above"]
    assert parse_answer("None of the above.", options, "en") == Parsed("answered", 2)
    assert parse_answer("Answer: None of the above", options, "en") == Parsed("answered", 2)


def test_an_option_inside_another_is_told_apart():
    """The longer text is what was said, and the shorter one is found where it stands alone."""
    options = ["Haste", "Haste makes waste", "Haste makes waste of time"]
    for place, option in enumerate(options):
        assert parse_answer(f"The answer is: {option}.", options, "en") == Parsed("answered", place)
        assert parse_answer(option.upper(), options, "en") == Parsed("answered", place)


def test_an_option_that_is_the_letter_of_another_is_ambiguous():
    """Nobody can tell whether `B` means the option B or the option that reads so."""
    assert parse_answer("B", ["B", "A", "C", "D"], "en") == Parsed("unparsed")
    assert parse_answer("C", ["B", "A", "C", "D"], "en") == Parsed("answered", 2)


def test_options_of_the_same_text_cannot_be_told_apart():
    """Where two options read the same only a letter can choose."""
    options = ["Haste makes waste", "Haste makes waste!", "Still waters run deep"]
    assert parse_answer("Haste makes waste", options, "en") == Parsed("unparsed")
    assert parse_answer("Answer: B. Haste makes waste", options, "en") == Parsed("answered", 1)


@pytest.mark.parametrize(
    "unit",
    [
        "word ",
        "A, ",
        "Answer: ",
        "answer ",
        "{",
        '{"answer":',
        "haste makes ",
        "答案是",
        "not ",
        "<a",
        "\\boxed{",
        "(",
        "2 ",
    ],
)
def test_long_replies_take_linear_time(unit: str):
    """No reply makes the reader slow: ten times the text takes about ten times as long, not a hundred."""

    def seconds(length: int) -> float:
        reply = unit * (length // len(unit))
        start = time.process_time()
        parse_answer(reply, OPTIONS["en"], "en")
        return time.process_time() - start

    seconds(100)
    assert seconds(50_000) < 30 * max(seconds(5_000), 0.005)


@given(
    reply=st.one_of(st.text(), LETTERS, st.lists(CUES).map(" ".join)),
    options=st.lists(st.text(), max_size=6),
    code=LANGUAGES,
)
def test_any_reply_is_read(reply: str, options: list[str], code: str):
    """No text raises, and there is an index, within the options, exactly where the reply is answered."""
    parsed = parse_answer(reply, options, code)
    assert (parsed.status == "answered") == (parsed.index is not None)
    assert parsed.index is None or 0 <= parsed.index < len(options)


@given(options=MENUS, data=st.data())
def test_an_option_in_full_is_an_answer(options: list[str], data: st.DataObject):
    """Whoever repeats one option's text has chosen it, bare or after a cue, wherever it stands among the options."""
    place = data.draw(st.integers(0, len(options) - 1))
    for reply in (options[place], f"**{options[place].upper()}.**", f"Answer: {options[place]}"):
        assert parse_answer(reply, options, "en") == Parsed("answered", place)
    order = data.draw(st.permutations(range(len(options))))
    shuffled = [options[i] for i in order]
    assert parse_answer(options[place], shuffled, "en") == Parsed("answered", order.index(place))


@given(
    place=st.integers(0, 3),
    code=st.sampled_from(sorted(OPTIONS)),
    noise=st.sampled_from(["", "\u200f", "**", "\u2067", "  "]),
)
def test_a_letter_names_its_place(place: int, code: str, noise: str):
    """Latin letters and digits are read in every language, with marks around them that no reader sees."""
    for sign in ("ABCD"[place], "abcd"[place], "ＡＢＣＤ"[place], "1234"[place], "١٢٣٤"[place], "१२३४"[place]):
        assert parse_answer(f"{noise}{sign}{noise}", OPTIONS[code], code) == Parsed("answered", place)
