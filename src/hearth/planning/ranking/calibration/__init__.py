"""Calibration: weighing the student's evidence, and knowing how sure the choice is.

In: candidates with their evidence. Out: fitted weights; the choice of least risk with signs of its sureness.
Here: `weight_fitting` (on demonstrations as if they had not been taught), `min_risk` (the choice).
Not here: when a teacher is asked (`planning.deferral`).
"""
