"""Finds what tells of somebody's health, belief, politics, love, union or origin, of their means or of a child.

By words of the field: conditions, symptoms, medicines (by name and by the endings that the INN gives them), treatments,
faiths and their feasts, parties and convictions, orientations, unions, ethnic groups (GDPR article 9); income, debt
and the sums named in the same sentence; care, school and custody of children; violence and crime, suffered or done,
what courts and prisons do about it, and asylum. Only what is told of somebody counts,
not the field itself: a doctor, an appointment, a church as a building, a price stay.
Covered: English; plurals; two-word conditions. Not covered: what is told between the lines ("I can't keep food down"),
typing errors, other languages, a sum without a word of income or debt beside it.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hearth.language.text.finder_text import Found, Words

KINDS = ("health", "religion", "politics", "sexuality", "union", "ethnicity", "finance", "children", "law")

_WORDS: Mapping[str, str] = {
    "health": "abortion abscess acne adderall addicted addiction adhd advil aids alcoholic alcoholism allergic "
    "allergies allergy alzheimer alzheimers ambien amnesia amoxicillin anaemia anaemic anemia anemic "
    "aneurysm angina anorexia anorexic antibiotic antibiotics antidepressant antidepressants anxiety "
    "aphasia appendicitis arrhythmia arthritis asperger aspirin asthma asthmatic ativan autism autistic "
    "benadryl biopsy bipolar bleeding botox bronchitis bulimia bulimic bypass cancer carcinoma cataract "
    "cataracts celiac chemo chemotherapy chickenpox chlamydia cholera cholesterol cirrhosis codeine "
    "coeliac colitis coma concerta concussion conjunctivitis constipated constipation contraceptive "
    "contraceptives cortisone covid crohn crohns cyst cystitis deaf dementia depressed depression "
    "dermatitis detox diabetes diabetic dialysis diarrhea diarrhoea diazepam digoxin disability disabled "
    "dyslexia dyslexic eczema embolism emphysema endometriosis epilepsy epileptic estradiol estrogen "
    "fentanyl fever feverish fibroids fibromyalgia flu fracture fractured gabapentin gastritis glaucoma "
    "gonorrhea gout haemophilia haemorrhoids hallucinations heparin hepatitis hernia herpes hiv humira "
    "hydrocodone hypertension hyperthyroidism hypoglycemia hypothyroidism ibuprofen imodium impotence "
    "impotent incontinence incontinent infertile infertility influenza insomnia insulin ivf jaundice "
    "ketamine kidney leukaemia leukemia lexapro lithium lupus lyme lymphoma lyrica malaria mammogram "
    "mastectomy measles melanoma melatonin meningitis menopause menstruation metformin methadone "
    "methotrexate migraine migraines miscarriage miscarried mono morphine mumps naloxone naproxen nausea "
    "nauseous neuropathy nexium nicotine obese obesity ocd osteoporosis overdose ovulating ovulation "
    "oxycodone ozempic pancreatitis paracetamol paralysed paralysis paranoia paranoid parkinson "
    "parkinsons paxil penicillin pepto periods phobia pmdd pms pneumonia postpartum prednisolone "
    "prednisone pregabalin pregnancy pregnant prep prozac psoriasis psychosis psychotic ptsd rabies rash "
    "rehab relapse rheumatism ritalin rubella salbutamol scabies schizophrenia schizophrenic sciatica "
    "scoliosis seizure seizures sepsis seroquel shingles sober sobriety std steroid steroids sti "
    "stillbirth stroke suboxone suicidal suicide syphilis tachycardia tamoxifen testosterone tetanus "
    "thrombosis thyroid tinnitus tonsillitis tramadol transfusion truvada tuberculosis tumor tumors "
    "tumour tumours tylenol ulcer ulcers valium vasectomy ventolin vertigo viagra vomited vomiting "
    "vyvanse warfarin wegovy xanax xarelto zoloft zyrtec "
    "amputated amputation amputee anaphylactic anaphylaxis antenatal antihistamine antihistamines autoimmune "
    "backache benign blister blisters bloating bmi boils breathless bruised bruises bruising bunion bunions burnout "
    "catheter concussed copd counselling cpap cramp cramps crutches defibrillator dehydrated dehydration dentures "
    "dermatologist diarrhoeal disabled dizziness dizzy dyscalculia dyspraxia earache ecg ectopic ekg epidural "
    "epipen fainted fainting frostbite gallstones gestational gingivitis haemorrhage hallucinating headache "
    "headaches heartburn hospitalised hospitalized hrt hungover hypochondria hysterectomy ibs immunosuppressed "
    "incurable indigestion infected infection infections inflamed inflammation inhaler inhalers inoculation "
    "intolerance intolerant iud lactating laxative laxatives lump lumps malignant medicated medication medications "
    "menopausal metastases metastasis mri myocarditis neurologist norovirus nosebleed nosebleeds numbness oncology "
    "opioid opioids osteoarthritis overweight pacemaker painkiller painkillers palpitations palsy perimenopausal "
    "pessary polyps postnatal prediabetes prediabetic premature prenatal prescription prescriptions prosthesis "
    "prosthetic psychotherapy radiotherapy reflux remission salmonella self-harm sickle-cell sinusitis sleepwalking "
    "smear spasm spasms sprain sprained ssri ssris stammer stent stents stillborn stitches stutter stutters "
    "surgeries surgery swollen symptom symptoms terminally tetany toothache tourettes transplant trimester "
    "ultrasound underweight uti vaccinated vaccination vaccinations wheezing wheezy x-ray x-rays "
    "oncologist psychiatrist psychologist psychotherapist urologist gynaecologist gynecologist rheumatologist "
    "haematologist hematologist endocrinologist gastroenterologist nephrologist cardiologist proctologist mastectomies "
    "overdosed overdosing dieting binge-eating sedated comatose stillbirths miscarry miscarrying hospitalisation "
    "hospitalization quadriplegic paraplegic blindness deafness",
    "religion": "adventist agnostic atheist baptised baptism baptist bible buddhism buddhist catholic catholicism "
    "christian christianity confession confirmed eucharist evangelical gurdwara halal hindu hinduism imam "
    "islam islamic jew jewish jews judaism kosher lutheran mass methodist mormon mosque mosques muslim "
    "muslims orthodox pentecostal prayer prayers protestant quaker quran rabbi ramadan rosary sabbath "
    "scientologist scientology shabbat shia sikh sikhism sunni synagogue torah yom zen",
    "politics": "afd fidesz podemos psoe snp syriza "
    "anarchist brexiteer cdu communism communist conservatives csu democrat democrats fascist fdp "
    "feminist gop labour leftist liberals libertarian maga marxist monarchist nationalist republican "
    "republicans socialist socialists spd tories tory ukip",
    "sexuality": "asexual bisexual bisexuality cisgender gay gays hetero heterosexual homosexual homosexuality "
    "intersex lesbian lesbians lgbt lgbtq nonbinary pansexual polyamorous queer transgender transsexual",
    "union": "union strike picketing shop-steward strike-fund unionise unionised unionising unionist unionists "
    "unionize unionized unionizing unison usdaw verdi",
    "finance": "alimony arrears bailiff bankrupt bankruptcy benefits bursary creditor creditors creditworthiness "
    "debt debts dividend dividends earnings evicted eviction foreclosure garnished garnishment inheritance "
    "inherited insolvency insolvent jobseeker lender loan loans mortgage mortgages overdraft overdrawn payday payslip "
    "payslips pension pensions redundancy remortgage salaries salary savings severance stipend wage wages welfare "
    "401k alimonies annuities annuity bailiffs collateral defaulted furlough furloughed guarantor indebted invested "
    "investments moneylender moonlighting payroll penniless pensioner refinance refinanced refinancing "
    "repayment repayments repossessed repossession royalties scholarship scholarships underpaid",
    "children": "adopted adoption bedwetting breastfeed breastfeeding bullied bullying childcare childminder custody "
    "daycare detention expelled fostering creche crèche kindergarten newborn nursery paediatrician "
    "paediatric pediatrician pediatric potty preschool preschooler stepchild stepdaughter stepson toddler "
    "toddlers truancy truant "
    "babysitter babysitters bottle-feeding diaper diapers fostered headteacher "
    "homeschooled homeschooling nannies nanny "
    "nappies nappy orphan orphaned paternity playgroup preemie stepchildren stepkids surrogacy teething tantrum "
    "tantrums tutoring weaning",
    "law": "asylum refugee refugees deported deportation deport raped rapes raping rapist molested molesting molester "
    "molestation assaulted stalked stalker stalking mugged mugging burgled burglarised burglarized trafficked "
    "blackmailed "
    "blackmailer paedophile pedophile parole paroled probation imprisoned imprisonment incarcerated incarceration "
    "jailed "
    "acquitted indicted indictment felony misdemeanor misdemeanour manslaughter shoplifting embezzlement embezzled "
    "perjury arrested convicted ex-convict",
    "ethnicity": "aboriginal afro-american arab arabs ashkenazi biracial black-british caucasian chicano hispanic "
    "inuit kurd kurdish latina latino latinx maori mixed-race native-american roma romani sinti tamil "
    "tutsi uyghur zulu",
}
_PHRASES: Mapping[str, str] = {
    "health": r"(?:blood pressure|blood sugar|cholesterol)(?: \w{2,7}){0,2}? \d{2,3}(?:(?: over |/)\d{2,3})?|"
    r"blood (?:group|type) (?:\w+ )??(?-i:AB|A|B|O)(?: ?(?:rh )?(?:pos(?:itive)?|neg(?:ative)?|[+-]))?|"
    r"(?:(?:going|go|goes|went|gone|back|been|send|sent) to|in|start(?:s|ed|ing)?|need(?:s|ed)?) (?:couples )?therapy|"
    r"(?:my|his|her|their|our) therapy|smok(?:e|es|ed|ing) (?:weed|pot|crack|meth|dope|joints?)|"
    r"(?:transition(?:ing)?|gender) (?:appointment|clinic|surgery)|gender transition|(?:on|taking|starting) hormones|"
    r"lost (?:the|our|her|my|their) baby|blood pressure|blood sugar|blood clot|panic attacks?|heart (?:attack|"
    r"disease|failure|condition)|"
    r"multiple sclerosis|eating disorder|nervous breakdown|mental (?:illness|breakdown)|"
    r"morning sickness|sleep apn(?:o)?ea|urinary infection|yeast infection|cystic fibrosis|"
    r"down syndrome|burn(?:ed)? out|in labou?r|birth control|morning-after pill|c-section|hot flushes|"
    r"sick leave|test(?:ed)? positive|therapy session|psychiatric (?:ward|clinic|hospital)|"
    r"hearing aids?|wheelchair|"
    r"(?<=my )(?:period|cycle|psychiatrist|therapist|oncologist|gyn(?:a)?ecologist|urologist)|"
    r"diagnos(?:ed|is)|on medication|"
    r"(?:broke|broken|fractured|dislocated|twisted|tore|torn|pulled|shattered) (?:my "
    r"|his |her |their |a |an )?(?:\w+ )?"
    r"(?:leg|arm|wrist|ankle|hip|ribs?|collarbone|nose|toe|finger|foot|hand|elbow|shoulder|knee|ligaments?|hamstring|"
    r"meniscus|tendon|muscle|back|jaw|tooth|achilles)|"
    r"(?:bad|sore|stiff|aching|weak|dodgy) (?:back|knees?|hips?|heart|throat|neck|hearing|eyesight|shoulders?)|"
    r"(?:blood|urine|stool|hearing|eye|allergy|pregnancy|genetic|hiv|std|sti|smear|paternity) "
    r"(?:tests?|results?|work|count)|"
    r"(?:ct|pet|mri|bone|brain|heart|liver|kidney|thyroid|breast|ultrasound) scans?|pap smear|root canal|"
    r"(?:hip|knee|heart|back|eye|brain|gastric|cataract|gallbladder|hernia|bypass|plastic|cosmetic|dental) "
    r"(?:operation|replacement|transplant|valve|sleeve|implants?|procedure)|operated on|"
    r"(?:slipped|herniated) dis[ck]|hay fever|food poisoning|stomach (?:bug|flu|ulcer|cramps|pains?)|cold sores?|"
    r"(?:chest|back|knee|joint|tooth|neck|hip|abdominal|period|nerve|muscle|stomach|belly|tummy) "
    r"(?:pains?|aches?|infection)|"
    r"(?:chronic|terminal|mental|kidney|liver|lung|skin|bowel|autoimmune|thyroid|gum|eye|sexually transmitted) "
    r"(?:pain|fatigue|illness|disease|condition|infection|health issues?|health problems?)|"
    r"(?:lactose|gluten|nut|peanut|dairy|wheat)[- ](?:intoleran(?:t|ce)|allerg(?:y|ic|ies))|allergic to|"
    r"\d+(?:[.,]\d+)? ?(?:mg|mcg|µg)\b|(?:sleeping|water|birth control|iron|diet) (?:pills?|tablets?)|"
    r"(?:blood thinners?|beta[- ]blockers?|nicotine patch(?:es)?|antabuse)|\d+ weeks (?:pregnant|along)|"
    r"baby is due|due date is|gave birth|"
    r"(?:trying for|expecting|lost) a baby|fertility (?:clinic|treatment)|egg donor|sperm (?:donor|count)|"
    r"(?:mental|physical|poor|bad) health|(?:quit|quitting|stopped|stop) (?:drinking|smoking)|"
    r"alcoholics anonymous|aa meetings?|drinking problem|drug (?:problem|test|habit|abuse)|"
    r"(?:hard of hearing|short-sighted|long-sighted|partially sighted|registered blind|going blind)|"
    r"(?:physio|occupational|speech|radiation|hormone|group|couples|grief)[- ]?therap(?:y|ist)|long covid|"
    r"(?:admitted to|discharged from|rushed to) (?:the )?(?:hospital|hospice|a&e|intensive care|the ward|icu)|"
    r"intensive care|palliative care|hospice|off sick|signed off|sick note|sick leave|throwing up|threw up|"
    r"(?:heart|brain|knee|hip|back|eye|cataract|spinal|spine|bypass|gastric|bariatric|plastic|cosmetic|jaw|shoulder|"
    r"hand|"
    r"foot|ankle|wrist|lung|liver|kidney|bowel|stomach|throat|thyroid|breast|prostate|hernia|laser|open[- ]heart|"
    r"keyhole|"
    r"dental|oral|emergency|weight[- ]loss|gender|transplant|cancer|tumou?r) (?:surger(?:y|ies)|operations?)|"
    r"lumps? (?:in|on|under) (?:(?:my|his|her|their|the|one|a) )?(?:\w+ )?(?:breasts?|neck|armpit|throat|testicles?|"
    r"chest|"
    r"arm|leg|groin|head|back|skin|thyroid|side)|(?:found|felt|feel|has|have|had|noticed) (?:a|another|the|"
    r"some) (?:\w+ )?lumps?"
    r"(?! (?:sum|of))|"
    # Harm to oneself, and the wish to die.
    r"self[- ](?:harm(?:s|ed|ing)?|injur(?:y|ies|ing)|inflicted)|"
    r"end(?:s|ed|ing)? (?:it all|(?:my|his|her|their|your) (?:own )?li(?:fe|ves))|"
    r"(?:tak(?:e|es|en|ing)|took) (?:my|his|her|their|your) (?:own )?li(?:fe|ves)(?! (?:jacket|vest|insurance|story|"
    r"savings))|"
    r"(?:do(?:es)?n['’]?t|do(?:es)? not|did(?:n['’]t| not)|no longer) want(?:s|ed)? to (?:live|be alive|go on living)|"
    r"(?:want(?:s|ed|ing)?|wish(?:es|ed|ing)?) (?:to die|to be dead|(?:i|he|she|they) (?:was|were) dead)|"
    r"better off dead|"
    r"(?:no|any|nothing) (?:reason |point )?(?:to live for|(?:to|in) (?:live|living))|slit (?:my|his|her|"
    r"their) wrists?|"
    r"(?:lost|lose|losing|gained?|gaining|put on|putting on|shed) (?:weight|\d{1,3} ?(?:kg|kilos?|pounds?|lbs?|"
    r"stone)\b)|"
    r"\d{1,3} ?(?:kg|kilos?|pounds?|lbs?|stone) (?:overweight|too heavy|underweight)|weight[- ]loss (?:clinic|jabs?|"
    r"injections?)",
    "religion": r"communion|(?:for|during|until|observ(?:e|ing)|gave up .{2,30} for|fast(?:s|ing)? (?:in|"
    r"for)) (?-i:Lent)|"
    r"(?:go|goes|went|going) to (?:mass|church|synagogue|temple)|(?:sunday|midnight|holy) mass|"
    r"bar mitzvah|bat mitzvah|holy communion|first communion|jehovah'?s witness(?:es)?|born[- ]again|"
    r"yom kippur|rosh hashanah|(?:friday|morning|evening) prayers?|"
    r"eid al-\w+|sunday school|bible (?:study|group)|prayer (?:group|meeting)",
    "politics": r"(?:green|labour|pirate|conservative|communist|democratic|republican) party|left[- ]wing|"
    r"right[- ]wing|far[- ](?:left|right)|pro-life|pro-choice|party conference|(?:i|we) vote(?:d)? for|"
    r"(?:lib dems?|sinn f[ée]in|plaid cymru|die linke|the greens)|"
    r"(?<=vote )(?:labour|green|left)|(?<=votes )(?:labour|green|left)|(?<=voted )(?:labour|green|left)",
    "sexuality": r"coming out (?=as|to)|same-sex|gender dysphoria|sex life|pride (?:march|parade)|"
    r"non-binary",
    "union": r"(?:trade|labou?r|teachers'?|nurses'?|workers'?) union|"
    r"(?<=join the )union|(?<=joined the )union|(?<=left the )union|(?<=leave the )union|(?<=in the )union|"
    r"union (?:dues|rep|meeting|member(?:ship)?)|"
    r"shop steward|works council|strike (?:fund|ballot|vote)|on strike",
    "finance": r"credit (?:score|rating|check|history)|child (?:benefit|support|maintenance)|housing benefit|"
    r"unemployment benefits?|universal credit|income support|minimum wage|bank balance|net worth|student loan|"
    r"tax (?:arrears|debt)|(?:monthly|annual|yearly|gross|net|take-home) (?:income|pay)|"
    r"(?:(?<=my )|(?<=our )|(?<=his )|(?<=her )|(?<=their ))(?:income|pay|earnings|bonus|raise|commission|allowance|"
    r"finances|investments|inheritance|shares|stocks|portfolio|tax return|tax refund|payout|settlement)|"
    r"debt collectors?|food bank|pawn shop|laid off|"
    r"pay (?:rise|raise|cut)|(?:sick|maternity|paternity|overtime|holiday|back|severance) pay|hourly (?:rate|wage)|"
    r"(?:before|after) tax|tax bracket|credit (?:card )?(?:debt|bill|balance|limit)|credit card bills?|"
    r"bank (?:statements?|loans?|account)|(?:current|savings|joint|checking) account|account balance|"
    r"(?:unpaid|overdue|outstanding) (?:bills?|rent|wages|balance|loans?|taxes)|"
    r"(?:behind|late) (?:on|with) (?:the|my|our|his|her|their) (?:rent|mortgage|payments?|bills?|instal?lments?|loan)|"
    r"(?:can't|cannot|can not|couldn't|could not) (?:afford|pay (?:the|my|our) (?:rent|bills?|mortgage))|"
    r"short of (?:money|cash)|in the red|maxed out|trust fund|life insurance|payday loan|car loan|home loan|"
    r"monthly instal?lments?|(?:lost|losing) (?:my|his|her|their) job|on benefits|on the dole|job ?seeker'?s allowance|"
    r"(?:disability|housing|carer'?s|family|parental) (?:allowance|benefits?)|means[- ]tested|child tax credits?|"
    r"(?:won|win|wins|winning) (?:\w+ ){0,5}?(?:(?:in|on|at) )?(?:the )?(?:lottery|lotto|jackpot|pools|casino|"
    r"sweepstake)|"
    r"lott(?:ery|o) (?:win|winnings?|winners?|jackpot|prize)|scratch ?card win(?:nings)?|gambling (?:debts?|losses)|"
    r"(?:lost|lose|loses|losing|gambled) (?:\w+ ){0,4}(?:gambling|betting|at the casino|at poker)|"
    r"(?:fired|sacked|dismissed|firing|sacking) (?:me|him|her|us|them)|(?:getting|being|got|get|gets) (?:fired|sacked|"
    r"laid off|"
    r"made redundant)|made redundant|unemployed|jobless|out of work|wrongful dismissal|unfair dismissal|"
    r"severance (?:pay|package)|"
    r"(?:gave|given|handed|got) (?:me |him |her |us |them |my |his |her |their )(?:notice|the sack|the boot)|"
    r"in my will|tax debts?|(?:weeks?|months?|days?|fallen|falling|fell|get|getting|am|are|is|be) behind (?:on|with) "
    r"(?:the |my |our |his |her |their )?(?:rent|mortgage|bills|payments?|instal+ments?|maintenance)|"
    r"left (?:me|us|him|her|them) (?:about |over )?[€$£]? ?\d[\d.,]*(?: ?(?:k|grand|thousand|million|euros?|"
    r"pounds?|dollars?))?",
    "law": r"sex offenders?|(?:get(?:s|ting)?|got|am|are|is|being|be|been|were|we['’]re|i['’]m) divorced|"
    r"(?:my|our|his|her|their|the) divorce|divorc(?:e|ing) (?:him|her|me|papers|lawyer|settlement|proceedings|hearing)|"
    r"filed? for divorce|rapes?(?![- ]?(?:seed|oil|field))|(?:on|violated|broke) probation|probation officer|"
    r"(?:sexual(?:ly)?|"
    r"domestic|physical(?:ly)?|child) (?:abus(?:e|ed|es|ing)|assault(?:s|ed|ing)?|violence|harass(?:ed|ment)|"
    r"offences?|offenders?)|sexual offences?|hate crimes?|date[- ]rape|"
    r"battered (?:wife|wives|women|woman)|women['’]s (?:shelter|refuge)|(?:restraining|non-molestation|protection|"
    r"expulsion) order|"
    r"victim(?:s)? of (?:a |an )?(?:rape|crime|abuse|violence|assault|fraud|stalking|domestic|trafficking)|"
    r"victim support|"
    r"(?:in|to|from|out of) (?:prison|jail)(?! break)|prison (?:sentence|term|visit)|(?:suspended|custodial) sentence|"
    r"criminal (?:record|charges?|offence|offense|conviction|case)|(?:a|by) court order|court[- ]ordered|"
    r"community service|electronic tag|ankle monitor|"
    r"(?:on|out on|granted|refused|posted) bail|"
    r"(?:convicted|accused|charged|guilty|suspected|acquitted) (?:of|with) (?:\w+)|drunk[- ]driving|drink[- ]driving|"
    r"dui|"
    r"(?:police|officers?) (?:\w+ )?(?:searched|raided|arrested|questioned)|under arrest|house search|search warrant|"
    r"(?:asylum|refugee) (?:hearing|application|claim|status|seekers?|interview|appeal|case)|residence permit|"
    r"immigration (?:hearing|lawyer|status|appeal|detention)|undocumented|illegal immigrants?|overstayed (?:my|his|"
    r"her|their) visa|"
    r"(?:leave|permission) to remain|(?:my|our|his|her|their) visa (?:runs out|expires?|expired|was|is|has)",
    "children": r"foster (?:child|care|parents?|son|daughter|family)|parents' evening|"
    r"school (?:report|nurse|counsellor)|"
    r"special needs|learning difficulties|(?<=in )(?:year|grade|class) \d{1,2}|"
    r"(?:first|second|third|fourth|fifth|sixth)[- ]grader?|nursery school|play ?group|"
    r"social services|youth welfare|wets? the bed|child "
    r"(?:protection|psychologist|minder|care)|(?:potty|toilet) training|"
    r"(?:class|form|head|maths|primary|kindergarten) teacher|after[- ]school "
    r"(?:club|care)|school (?:fees|place|refusal)|"
    r"(?:suspended|excluded|expelled|kicked out|sent home|picked up|bullied) "
    r"(?:from|at|by) (?:\w+ )?(?:school|nursery)|"
    r"(?:repeat(?:s|ing|ed)?|skip(?:s|ping|ped)?) (?:a|the|first|second|third|fourth|fifth|sixth) (?:year|grade)|"
    r"(?:son|daughter|kid|child|boy|girl|kids|children|twins|stepson|stepdaughter|grandson|granddaughter)(?:'s|s'|') "
    r"(?:teacher|school|class|grades?|nursery|behaviou?r|report|homework|exams?|father|mother|custody|tutor|therapist)|"
    r"(?:(?<=my )|(?<=our "
    r"))(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ]years?[- ]olds?|"
    r"(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)[- ]years?[- ]old "
    r"(?=son|daughter|boy|girl)",
    "ethnicity": r"half[- ](?-i:[A-Z][a-z]+(?:ian|ean|ese|ish|can|man|nch|tch|eek|qi|li|ni))|"
    r"(?:ethnic|racial) (?:minority|origin|group)|"
    r"native american|african[- ]american|mixed race|"
    r"jewish descent",
}
_FAMILY = "mum|mom|dad|husband|wife|son|daughter|brother|sister|mother|father|gran|grandma|grandpa"
_SOMEBODY = (
    rf"(?:i|you|he|she|we|they|who|{_FAMILY}|partner|boyfriend|girlfriend|ex|stepfather|stepdad|uncle|boss|friend|"
    r"neighbou?r|(?-i:[A-Z][a-z]+))"
)
_LED = {
    # An operation and a lump: the words alone are a practice, a machine's work and a piece of sugar.
    "surgery surgeries operation operations": (
        "health",
        rf"(?:(?:my|his|her|their|our|(?:{_FAMILY})['’]s) |(?:has|have|had|having|needs?|needed|needing|after|before|"
        r"undergo(?:es|ing)?|underwent|recovering from|recover from|in for|going in for|scheduled for) (?:a |an |the |"
        r"another |my |his |her |their )?)(?:surger(?:y|ies)|operations?(?! (?:manual|mode|room)))",
    ),
    # The weight of a body, with the number.
    "weight weigh weighs weighed weighing": (
        "health",
        rf"body weight|(?:my|his|her|(?:{_FAMILY}|(?-i:[A-Z][a-z]+))['’]s) (?:current |present |target )?weight "
        r"(?:is|was|has|went|of|dropped|rose|loss|gain|at|now)(?: (?:still|now|to|down|up|at|about|around|over|"
        r"under)){0,2}"
        r"(?: \d{2,3}(?:[.,]\d)?)?(?: ?(?:kg|kgs|kilos?|pounds?|lbs?|stone))?|"
        rf"{_SOMEBODY} weigh(?:s|ed|ing)? (?:in at |about |around |only |just |over |under |nearly )?"
        r"\d{2,3}(?:[.,]\d)?(?: ?(?:kg|kgs|kilos?|pounds?|lbs?|stone))?",
    ),
    "myself himself herself themselves themself yourself ourselves": (
        "health",
        r"(?:kill(?:s|ed|ing)?|harm(?:s|ed|ing)?|hurt(?:s|ing)?|cut(?:s|ting)?|burn(?:s|ed|t|ing)?|hang(?:s|ed|ing)?|"
        r"hung|"
        r"shot|shoot(?:s|ing)?|starv(?:e|es|ed|ing)|injur(?:e|es|ed|ing)|poison(?:s|ed|ing)?|drown(?:s|ed|ing)?) "
        r"(?:myself|himself|herself|themselves|themself|yourself|ourselves)",
    ),
    # Work that somebody lost; a kiln and a shot are fired, too.
    "fired sacked dismissed let laid made": (
        "finance",
        rf"{_SOMEBODY}(?:['’](?:ve|s|d|m|re))? (?:has |have |had |just |almost |nearly |might |may |will |am |is )?"
        r"(?:was|were|been|got|gets?|getting|be|being|am|is|are) (?:just |finally |almost |nearly |being |getting )?"
        r"(?:fired|sacked|dismissed|let go|laid off|made redundant)",
    ),
    # Blows, and worse: by somebody on somebody, unless in a game.
    "beat beats beating beaten hit hits hitting slap slaps slapped punches punched kicks kicked choke chokes choked "
    "strangles strangled abuses abused rapes raped threaten threatens threatened stalks stalked gropes groped molests "
    "molested battered stabbed assaulted attacked robbed harassed kidnapped hostage": (
        "law",
        rf"{_SOMEBODY} (?:\w+ ){{0,2}}?(?:beats?|beating|hits?|hitting|slaps?|slapped|punche[sd]|kicks|kicked|"
        rf"chok(?:es?|ed)|"
        r"strangle[sd]|abuse[sd]|rape[sd]|threaten(?:s|ed)?|stalk(?:s|ed)|gropes?|groped|molest(?:s|ed)) "
        r"(?:me|him|her|us|them|his wife|her husband|my \w+|the (?:kids|children))(?! (?:at|in|to) (?:chess|tennis|"
        r"golf|"
        r"cards|football|it|poker|scrabble|the (?:game|race|finish|train|punch))| back| up (?:on|for|about))|"
        r"(?:was|were|am|is|been|being|got|gets?) (?:\w+ )?(?:beaten(?: up)?(?! (?:at|in|to|by \d))|battered|abused|"
        r"groped|"
        r"strangled|choked|stabbed|assaulted|attacked by|threatened by|robbed|harassed|kidnapped|held hostage)|"
        r"beaten by (?:my|his|her|their)",
    ),
}
"""Phrases with somebody in them: words of which each holds one → its kind and form. Looked for only beside them."""
_MEDICINE = re.compile(
    r"[a-z]{3,}(?:cillin|mycin|micin|floxacin|cycline|azole|oprazole|sartan|statin|pril|olol|dipine|azepam|azolam|"
    r"zodone|"
    r"triptyline|oxetine|traline|alopram|faxine|gliptin|gliflozin|glutide|tidine|setron|triptan|mab|tinib|vir|oxaban|"
    r"parin|barbital|caine|cort|sone|solone)\b"
)
_NO_MEDICINE = frozenset("april olol reservoir elixir vir comparin person cocaine".split())
_DISEASE = re.compile(
    r"[a-z]{3,}(?:itis|aemia|emia|opathy|algia|ectomy|otomy|oscopy|phobia|plegia|sclerosis|carcinoma)\b"
)
_NO_DISEASE = frozenset("academia bohemia epidemia".split())
_KIND_OF = {word: kind for kind, words in _WORDS.items() for word in words.split()}
_PHRASE = re.compile(
    r"\b(?=\w)(?:" + "|".join(f"(?P<{kind}>(?:{form})\\b)" for kind, form in _PHRASES.items()) + ")", re.IGNORECASE
)
_LED_BY = tuple(
    (frozenset(words.split()), kind, re.compile(rf"\b(?:{form})\b", re.IGNORECASE))
    for words, (kind, form) in _LED.items()
)
_LEADING = frozenset().union(*(words for words, _, _ in _LED_BY))
_OFTEN_ELSE = frozenset(
    "mono prep zen mass confirmed periods bleeding kidney stroke roma labour trump black liberals union strike "
    "benefits savings redundancy welfare dividend dividends adopted expelled detention infection lump lumps premature "
    "smear stitches transplant symptoms symptom surgery surgeries intolerance blister blisters invested "
    "collateral orphan defaulted probation stalking felony".split()
)
"""Words that mean something else as often; they count beside another word of their field only."""
_IDIOM = re.compile(
    r"\b(?:depressions? in the (?:lawn|road|ground|floor|grass|mattress|seat)|debts? of gratitude|fever pitch|"
    r"cancer (?:zodiac|star ?sign|horoscope)|(?:zodiac|star) ?sign (?:is )?cancer|kindergarten cop|"
    r"addicted to (?:this|that|the) (?:\w+ )?(?:series|show|song|podcast|book|novel|game|band|soap))\b",
    re.IGNORECASE,
)
"""Turns of speech that hold a word of a field and tell nothing of anybody."""
_AMOUNT = re.compile(
    r"(?:[€$£¥]|\b(?:EUR|USD|GBP|CHF)) ?\d(?:[\d.,' ]*\d)?k?\b|\b\d{1,3}(?:[.,' ]\d{3})+(?:[.,]\d\d)?\b|"
    r"\b\d+(?:[.,]\d+)?k?(?= ?(?:[€$£¥]|euros?|dollars?|pounds?|francs?|quid|grand|EUR|USD|GBP|CHF)(?!\w))|"
    r"\b(?!(?:19|20)\d\d\b)\d{3,}\b",
    re.IGNORECASE,
)
_OWING = re.compile(
    r"\bow(?:e|es|ed|ing)\b|\bearn(?:s|ed|ing)?\b|\bborrow(?:s|ed|ing)?\b|\blent\b|\bpays? me\b|\bin debt\b|"
    r"\b(?:i|he|she|they|we|who) makes? (?=[€$£]?\d)|\b(?:get|gets|got|getting|be|am|is|are) paid\b|\btakes? home\b|"
    r"\bpaid (?:back|off)\b|\bpay(?:ing)? (?:back|off)\b|\bovercharged\b|\bpays? (?:him|her|them|us)\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?](?=\d)[^.!?\n]*)*")


def find_special(text: str, words: Words) -> list[Found]:
    """Find words that tell of a special category; kinds as in `KINDS`.

    Args:
        words: `finder_text.words(text)`.
    """
    found: list[Found] = []
    unsure: list[Found] = []
    for word, start, end in zip(words.folded, words.starts, words.ends, strict=True):
        kind = _kind_of(word)
        if kind:
            (unsure if word in _OFTEN_ELSE else found).append(Found(start, end, kind))
    for match in _PHRASE.finditer(text):
        found.append(Found(match.start(), match.end(), str(match.lastgroup)))
    if not _LEADING.isdisjoint(words.folded):
        for held, kind, form in _LED_BY:
            if not held.isdisjoint(words.folded):
                found += (Found(match.start(), match.end(), kind) for match in form.finditer(text))
    sure = {one.kind for one in found}
    n_unsure = Counter(one.kind for one in unsure)
    found += [one for one in unsure if one.kind in sure or n_unsure[one.kind] > 1]
    if found and (idioms := [idiom.span() for idiom in _IDIOM.finditer(text)]):
        found = [one for one in found if not any(start <= one.start and one.end <= end for start, end in idioms)]
    found += _sums(text, found)
    return sorted(found, key=lambda one: one.start)


def _sums(text: str, found: Sequence[Found]) -> Iterator[Found]:
    """Find the sums in sentences that speak of income or debt."""
    told = [one.start for one in found if one.kind == "finance"]
    if not told and not _OWING.search(text):
        return
    for sentence in _SENTENCE.finditer(text):
        if _OWING.search(sentence[0]) or any(sentence.start() <= place < sentence.end() for place in told):
            for amount in _AMOUNT.finditer(text, sentence.start(), sentence.end()):
                yield Found(amount.start(), amount.end(), "finance")


def _kind_of(word: str) -> str:
    kind = _KIND_OF.get(word) or (_KIND_OF.get(word[:-1]) if word.endswith("s") and len(word) > 4 else None)
    if kind:
        return kind
    if len(word) > 6 and word.isalpha():
        if _MEDICINE.fullmatch(word) and word not in _NO_MEDICINE:
            return "health"
        if _DISEASE.fullmatch(word) and word not in _NO_DISEASE:
            return "health"
    return ""
