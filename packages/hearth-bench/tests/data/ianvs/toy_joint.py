"""An edge model, a cloud model and a router; each writes down how it is called."""

import os

from sedna.common.class_factory import ClassFactory, ClassType

os.environ["BACKEND_TYPE"] = "OWN"
CALLS = []


def note(*what):
    CALLS.append(" ".join(str(w) for w in what))
    with open(os.environ["TOY_CALLS"], "a") as f:
        f.write(CALLS[-1] + "\n")


@ClassFactory.register(ClassType.GENERAL, alias="Edge")
class Edge:
    def __init__(self, model="tiny"):
        note("edge made", model)
        os.environ["model_path"] = __file__  # noqa: SIM112 — as sedna reads it

    def load(self, model_url=None):
        note("edge load", os.path.basename(str(model_url)))

    def predict(self, data, **kwargs):
        note("edge predict", data, sorted(kwargs.items()))
        return {"completion": f"call_{str(data).split()[0]}(0)"}

    def cleanup(self):
        note("edge cleanup")


@ClassFactory.register(ClassType.GENERAL, alias="Cloud")
class Cloud:
    def __init__(self, model="big"):
        note("cloud made", model)

    def inference(self, data, **kwargs):
        note("cloud inference", data, sorted(kwargs.items()))
        word, number = str(data).split()[0], int(str(data).split()[-1])
        return {"completion": f"call_{word}({number % 4})"}

    def cleanup(self):
        note("cloud cleanup")


@ClassFactory.register(ClassType.GENERAL, alias="Processor")
class Processor:
    def __call__(self, dataset):
        note("process", dataset.data_type, len(dataset))
        return dataset


@ClassFactory.register(ClassType.HEM, alias="MailToCloud")
class MailToCloud:
    def __init__(self, word="mail", **kwargs):
        note("router made", word, sorted(kwargs))
        self.word = word

    def __call__(self, data=None):
        note("route", data)
        return self.word in str(data)

    def cleanup(self):
        note("router cleanup")
