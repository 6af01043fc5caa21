"""Common English words that names are made of, too: "Grundschule am Mauerpark", "the allotment club", "school".

Alone they identify nobody, so a word of these counts as a name only where it is used as one (`contact_names`). Words
that are first names or surnames as often ("will", "baker", "church") are no part of this: those are weighed where they
stand. Grammar of German, French, Spanish, Italian and Dutch is covered as far as names hold it; other words are
English.
"""

# ruff: noqa: SIM905 - lists of words read best as words

from __future__ import annotations

from collections.abc import Sequence

FUNCTION_WORDS = frozenset(
    "a about above across after again against all along already also although always am among an and another any "
    "anybody "
    "anyone anything are around as at away be because been before behind being below beside between both but by can "
    "could did do does doing done down during each either else enough even ever every everybody everyone everything "
    "few "
    "first for from get gets getting go goes going got had has have having he her here hers him his how i if in into "
    "is it "
    "its just last least less let like many me might mine more most much must my near neither never new next no nobody "
    "none nor not nothing now of off often on once one only onto or other others our ours out over own please quite "
    "rather really same shall she should since so some somebody someone something soon still such than that the their "
    "theirs them then there these they thing things this those through to today together tomorrow tonight too toward "
    "under until up upon us very via was we well were what when where whether which while who whom whose why with "
    "within "
    "without would yes yesterday yet you your yours two three four five six seven eight nine ten "
    "am an auf aus bei beim bis das dem den der des die du ein eine einem einen einer es fur im ist mit nach oder ohne "
    "seit uber um und unter vom von vor wie zu zum zur au aux avec ce ces chez dans de del dei della delle di du e el "
    "en "
    "est et il in la las le lo los nel nella o par pour sous su sul sur un una une uno y con da do dos het op "
    "te ter voor".split()
)
"""Words of grammar: a capital at the beginning of a sentence, or in "10 AM", makes no name of them."""
DETERMINERS = frozenset("the a an my our your his her their this that".split())
COMMON_NOUNS = frozenset(
    # places and institutions
    "academy agency airport apartment archive association bakery barbershop basement bathroom bedroom bookshop "
    "building bureau cabin cafe cafeteria campus canteen cellar center centre chapel cinema city clinic club college "
    "committee community company council country daycare dealership department deposit depot desk dispensary "
    "district downtown embassy emergency entrance estate factory farm firm flat floor foundation gallery garage garden "
    "gardens government group gym hallway hospital hostel hotel hotline household institute island kiosk "
    "kindergarten kitchen laboratory landfill laundry library locker lounge mall market ministry mosque museum "
    "neighborhood neighbourhood nursery office opera orchestra organisation organization parking parliament party "
    "pharmacy place playground playgroup police practice prison pub radio reception recycling registry rehab "
    "restaurant room salon sauna school schools shed shop society stadium station store studio supermarket "
    "surgery synagogue team theater theatre toilet town travel university village warehouse workshop yard zoo "
    "allotment choir band crew squad league union member members board staff management headquarters "
    # people by what they do
    "accountant adviser advisor agent architect assistant auntie babysitter bank boss broker caretaker "
    "childminder children cleaner client coach colleague concierge consultant contractor counsellor customer dad daddy "
    "daughter decorator dentist designer director doctor doorman editor electrician employer engineer expert "
    "family father gardener girl grandfather grandma grandmother grandpa guide hairdresser "
    "handyman husband inspector instructor insurance janitor kid kids landlady landlord lawyer leader lecturer "
    "librarian locksmith manager mechanic midwife minister mother mum mummy nanny neighbor neighbour nurse officer "
    "optician optometrist orthodontist owner parent parents pediatrician people pharmacist photographer "
    "physician physio physiotherapist plumber policeman principal professor psychologist roofer roommate "
    "secretary seller sister brother solicitor specialist student students supervisor surgeon surveyor teacher "
    "tenant therapist trainer translator treasurer tutor uncle vet veterinarian volunteer waiter wife woman worker "
    # what they do, have and teach
    "accident account activity administration advice aid air alarm animal animals appointment arts auction "
    "babies baby bags bake battery beauty bed benefit benefits bicycle bike bikes birthday "
    "blood board boat body book books boy boys bread breakfast broadband bus business cable cake calendar call "
    "camping car card care cars cat cats charity chat cheese chess children choice class classes cleaning "
    "clothes club coffee computer concert control cooking copy corner course credit crisis culture customer cycle "
    "cycling "
    "dance dancing data delivery dental design desk dining dinner doctor dog dogs door drama dress drink driving "
    "duty education electric electricity electronics email emergency energy engineering equipment "
    "evening event events exam exercise eye family fashion fire fitness flight flower flowers food football free "
    "friday fruit fun fund funeral furniture game games gas general gift group "
    "guitar happy hardware health heating help helpline history hobby home hour "
    "hours idea information internet italian job jobs junior kids knowledge language late leather "
    "legal lesson lessons letter life line list live living loan local lottery lunch "
    "machine mail main maintenance management maps math maths meal meals media medical medicine meeting menu message "
    "midnight mobile modern monday money month monthly morning mortgage motor movie music national "
    "nature network news newspaper night notes number numbers online open order organic outdoor paint paper "
    "parcel passport pay pension person pet pets phone photo photos piano picture pizza plan planning "
    "plastic play plumbing present print printing private program project property public "
    "quality quiz rail railway real recipe regional removal rent rental repair repairs rescue "
    "reservation riding road running salad saturday saving savings science sea second secret "
    "security senior service services shift shoes shopping show shuttle simple singing size sky sleep "
    "soap soccer social solar sound spa spanish special speech sport sports start stock storage "
    "strings sunday supply support swim swimming table tax taxes taxi tea tech technical technology "
    "telephone television tennis test thursday ticket tickets time times tour tourist towel toy toys track trade "
    "traffic "
    "train training trains transport trash travel tree trees trip truck tuesday tv vegetable vehicle video visit "
    "voice walk walking waste watch web wedding wednesday week weekend weekly welcome wifi "
    "women work working works world writing year yearly years yoga".split()
)
"""Nouns and adjectives of everyday talk that names of shops, clubs and schools are made of."""
COMMON_WORDS = FUNCTION_WORDS | COMMON_NOUNS


def common_core(key: Sequence[str]) -> tuple[str, ...]:
    """Return the words of a name without a leading `the` or `my`, if one common word is left; else nothing.

    `("the", "school")` → `("school",)`; `("anna",)` and `("piano", "teacher")` → `()`.
    """
    core = tuple(key[1:] if len(key) > 1 and key[0] in DETERMINERS else key)
    return core if len(core) == 1 and core[0] in COMMON_WORDS else ()
