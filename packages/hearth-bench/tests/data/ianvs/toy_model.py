"""A base model that knows the last answer to each first word; runs in Ianvs and in Hearth alike."""

import json
import os

from sedna.common.class_factory import ClassFactory, ClassType

os.environ["BACKEND_TYPE"] = "OWN"


@ClassFactory.register(ClassType.GENERAL, alias="ToyModel")
class ToyModel:
    def __init__(self, lr=0.1, mode="a"):
        self.lr, self.mode, self.known = lr, mode, {}

    def preprocess(self):
        return None

    def train(self, data, **kwargs):
        for x, y in zip(data.x, data.y):
            self.known[str(x).split()[0]] = str(y)
        return self

    def save(self, path):
        os.makedirs(path, exist_ok=True)
        file = os.path.join(path, "m.json")
        with open(file, "w") as f:
            json.dump(self.known, f)
        return file

    def load(self, path):
        with open(path) as f:
            self.known = json.load(f)

    def predict(self, x, **kwargs):
        found = [self.known.get(str(t).split()[0], "none") for t in x]
        return [f if self.mode == "a" else f.upper() for f in found]
