"""Lets Ianvs' lifelong paradigm learn text with the sedna it ships: its core calls methods which that one lacks."""

import os

import core.testcasecontroller.algorithm.paradigm.base as base
import numpy as np
from sedna.datasources import JsonlDataParse

os.environ["BACKEND_TYPE"] = "OWN"
_parse = JsonlDataParse.parse


class Text(str):
    """Ianvs copies what a sample iterates over as files; a text has none."""

    def __iter__(self):
        return iter(())


def parse(self, *files, **kwargs):
    _parse(self, *files)
    texts = np.empty(len(self.x), dtype=object)
    texts[:] = [Text(t) for t in self.x]
    self.x = texts


JsonlDataParse.parse = parse


class Detail:
    def __init__(self, entry, scores):
        self.entry, self.scores = entry, scores


class Job:
    def __init__(self, seen_estimator, **others):
        self.model = seen_estimator

    def train(self, data, **kwargs):
        self.model.train(data)
        return self.model.save(os.environ["OUTPUT_URL"])

    def my_evaluate(self, data, metrics=None, **kwargs):
        scores = {"accuracy": metrics(data.y, self.model.predict(data.x))}
        return os.environ["MODEL_URLS"], [Detail("everything", scores)], scores

    def evaluate(self, data, metrics=None, **kwargs):
        return self.my_evaluate(data, metrics)[0]

    def my_inference(self, data, **kwargs):
        return self.model.predict(data.x)

    def inference_2(self, data, **kwargs):
        number = int(str(data.x[0]).split()[-1])
        return self.model.predict(data.x), number % 3 == 0, []

    def inference(self, data, **kwargs):
        return self.inference_2(data)


base.LifelongLearning = Job
