from sedna.common.class_factory import ClassFactory, ClassType


@ClassFactory.register(ClassType.GENERAL, alias="acc")
def acc(y_true, y_pred):
    return sum(str(a) == str(b) for a, b in zip(y_true, y_pred)) / len(y_true)


@ClassFactory.register(ClassType.GENERAL, alias="accuracy")
def accuracy(y_true, y_pred):
    found = [p[0] if isinstance(p, list) else p for p in y_pred]
    return sum(str(a) == str(b) for a, b in zip(y_true, found)) / len(y_true)


@ClassFactory.register(ClassType.GENERAL, alias="joint_acc")
def joint_acc(y_true, y_pred):
    return sum(str(a) == r[1]["completion"] for a, r in zip(y_true, y_pred)) / len(y_true)


@ClassFactory.register(ClassType.GENERAL, alias="cloud_ratio")
def cloud_ratio(y_true, y_pred):
    return sum(bool(r[0]) for r in y_pred) / len(y_pred)
