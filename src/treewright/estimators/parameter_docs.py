"""The text of every public parameter and attribute, written once and added to the class docstrings at import.

An entry is in numpydoc form, without the default, which is read from the signature. An entry with tags in brackets
replaces the general one in classes that have all of these tags; of several such entries the one with the most tags
applies.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

PARAMETERS = """
estimator [adaboost classes] : classifier or None
    The classifier to boost; None is a decision stump. Give a deeper tree, `DecisionTreeClassifier(max_depth=3)`,
    where columns matter only in combination. A classifier of another library needs `sample_weight`. Trees of this
    library read the table once, with text columns and missing values.
estimator [adaboost numbers] : regressor or None
    The regressor to boost; None is a tree of depth 3. Any regressor of scikit-learn can be used. Trees of this library
    read the table once, with text columns and missing values.
estimator [bagging classes] : classifier or None
    The classifier to fit; None is `DecisionTreeClassifier`. Trees of this library read the table once and get weights
    instead of copied rows, so `min_samples_leaf` counts a row once, however often it was drawn. Pipelines get the table
    unchanged. Other estimators get numbers from a `TablePreparer`. A sample with a single class gets a constant member.
estimator [bagging numbers] : regressor or None
    The regressor to fit; None is `DecisionTreeRegressor`. Trees of this library read the table once and get weights
    instead of copied rows, so `min_samples_leaf` counts a row once, however often it was drawn. Pipelines get the table
    unchanged. Other estimators get numbers from a `TablePreparer`.
estimators [classes] : list of (name, classifier) or None
    The members. None is k-nearest neighbours ("nearest"), a decision tree pruned by cross-validation ("tree") and a
    support vector machine ("svm"), which make different errors. Above 10,000 rows the kernel of the support vector
    machine is approximated by 300 points. Members of this library and pipelines get the table unchanged; others get
    numbers from a `TablePreparer`. A member set to "drop" is left out.
estimators [numbers] : list of (name, regressor) or None
    The members. None is k-nearest neighbours ("nearest"), a decision tree pruned by cross-validation ("tree") and a
    support vector machine ("svm"), which make different errors. Above 10,000 rows the kernel of the support vector
    machine is approximated by 300 points. Members of this library and pipelines get the table unchanged; others get
    numbers from a `TablePreparer`. A member set to "drop" is left out.
estimators [averaging classes] : list of (name, classifier) or None
    The members. None is k-nearest neighbours ("nearest"), a decision tree pruned by cross-validation ("tree") and a
    support vector machine with calibrated probabilities ("svm"). Members of this library and pipelines get the table
    unchanged; others get numbers from a `TablePreparer`. A member set to "drop" is left out.
final_estimator [classes] : classifier or None
    The model that is fitted to the predictions of the members; None is a logistic regression.
final_estimator [numbers] : regressor or None
    The model that is fitted to the predictions of the members; None is a ridge regression.
n_estimators [forest] : int or "auto"
    Number of trees. "auto" is 500 for small tables and 100 for large ones. More trees take time, but do not overfit.
n_estimators [boosting] : int or "auto"
    Number of boosting rounds. "auto" chooses it by early stopping on a validation set and then fits all rows with that
    many rounds; with more than 20,000 rows the validated trees are kept. Tables of up to 5,000 rows are validated in
    five folds. Up to 200,000 rows the tree shape is chosen as well. Give a number for a quick fit.
n_estimators [adaboost] : int
    Largest number of members. Boosting ends early with a member that makes no error or is no better than guessing.
    Raise it together with a lower `learning_rate`.
n_estimators [bagging] : int
    Number of members. More members take time, but do not overfit.
learning_rate [boosting classes] : float or "auto"
    Factor of each tree's prediction. Smaller values need more rounds and usually predict better. "auto" is 0.05; it is
    0.1 for more than two classes, for more than 20,000 rows, and for a given number of rounds.
learning_rate [boosting numbers] : float or "auto"
    Factor of each tree's prediction. Smaller values need more rounds and usually predict better. "auto" is 0.05; it is
    0.1 for more than 20,000 rows and for a given number of rounds.
learning_rate [adaboost classes] : float
    Factor of each member's weight in the vote. Lower it for noisy data, with more members.
learning_rate [adaboost numbers] : float
    How much each member changes the weights of the rows. Lower it for noisy data, with more members.
loss [boosting classes] : {"log_loss", "exponential"} or function
    The loss to minimise: the negative log-likelihood, or for two classes AdaBoost's exponential loss. A function gets
    the score and the target (0 or 1) of one row and returns gradient and hessian. With more classes it gets the scores
    of all rows, a column per class, and the positions of their classes in `classes_`; it returns two such matrices.
    A loss object of scikit-learn is called by its `gradient_hessian`.
loss [boosting numbers] : str or function
    The loss to minimise: "squared_error", "absolute_error" (leaves predict medians), "huber" (squared, but linear for
    the largest tenth of the errors before each round, so that outliers count little; its validation loss is the mean
    absolute error), "quantile", or the deviances "poisson", "gamma" and "tweedie" with a log link, for
    targets not below 0. A function gets the prediction and the target of one row and returns gradient and hessian; it
    is compiled, and its hessian must not be negative. `validation_loss_` is then the difference to the initial loss.
    A loss object of scikit-learn is called by its `gradient_hessian`.
loss [adaboost numbers] : {"linear", "square", "exponential"}
    The loss of a row: L itself, its square, or 1 - exp(-L). The square weakens small errors, exp large ones.
quantile : float
    For loss="quantile": the fraction of targets below the prediction.
tweedie_power : float
    For loss="tweedie": the power of the variance, from 1 (Poisson) to 2 (gamma).
growth : {"auto", "best", "level", "oblivious"}
    Which leaf is split next: the one whose split reduces the loss most ("best"); all leaves of a level before the next
    level ("level"); or all leaves of a level by the same split ("oblivious", six levels unless `max_depth` is given).
    "auto" is the better of "best" and "oblivious" where there is a validation set and the table has up to 200,000 rows;
    otherwise it is "best".
criterion [classes] : {"gini", "information_gain", "gain_ratio", "error"} or function
    How a split is rated. Gini and information gain rarely differ. The gain ratio penalises columns with many
    categories. The error is easy to explain, but does not see splits that help only further down. "entropy", which is
    scikit-learn's name, is the information gain. A function gets the array of a node's class weights and returns its
    impurity: see `docs/criteria.md`.
criterion [numbers] : {"squared_error", "sdr", "absolute_error", "poisson"} or function
    How a split is rated. A leaf predicts its mean, with "absolute_error" its median, which is robust to outliers. "sdr"
    is the standard deviation reduction of model trees. "poisson" is for counts; no side of a binary split may have a
    sum of 0. A function gets weight, mean and variance of a node's targets and returns its impurity: see
    `docs/criteria.md`.
criterion [cart classes] : {"gini", "information_gain"} or function
    How a split is rated. Gini is the choice of the book; R's rpart offers both. A function gets the array of a node's
    class weights and returns its impurity: see `docs/criteria.md`.
criterion [cart numbers] : {"squared_error", "absolute_error"} or function
    How a split is rated. A leaf predicts its mean, with "absolute_error" its median; both are in the book. A function
    gets weight, mean and variance of a node's targets and returns its impurity: see `docs/criteria.md`.
criterion [forest classes] : {"gini", "information_gain", "gain_ratio", "error"}
    How a split is rated. Gini and information gain rarely differ in a forest. "entropy" is the information gain.
criterion [forest numbers] : {"squared_error", "sdr", "absolute_error", "poisson"}
    How a split is rated. A leaf predicts its mean, with "absolute_error" its median. "poisson" is for counts.
criterion [oblivious classes] : {"gini", "information_gain", "error"}
    How a split is rated, summed over all nodes of the level.
criterion [oblivious numbers] : {"squared_error", "poisson"}
    How a split is rated, summed over all nodes of the level. "poisson" is for counts.
categorical : {"subset", "multiway", "one_vs_rest", "best_subset"}
    How a categorical column is split: into the two best groups of categories, into one branch per category as in ID3,
    or into one category and all others. "multiway" is easy to read where there are few categories. Above twelve
    categories "subset" and "multiway" count only the gain that is not expected by chance; "best_subset" counts all, as
    in rpart.
categorical [oblivious classes] : {"subset", "one_vs_rest", "best_subset"}
    How a categorical column is split: into two groups of categories in the order of the last class's fraction, or into
    one category and all others. Above twelve categories "subset" counts only the gain that is not expected by chance;
    "best_subset" counts all.
categorical [oblivious numbers] : {"subset", "one_vs_rest", "best_subset"}
    How a categorical column is split: into two groups of categories in the order of their mean targets, or into one
    category and all others. Above twelve categories "subset" counts only the gain that is not expected by chance;
    "best_subset" counts all.
candidates [classes] : "midpoints", "class_boundaries", ("bins", k) or ("step", width)
    Candidate thresholds of a numeric column: the midpoints of all neighbouring values; only those where the class
    changes, which are fewer and give the same tree; the limits of k bins of about equal size; or the multiples of a
    width, which are round numbers.
candidates [numbers] : "midpoints", ("bins", k) or ("step", width)
    Candidate thresholds of a numeric column: the midpoints of all neighbouring values; the limits of k bins of about
    equal size; or the multiples of a width, which are round numbers.
splitter : "best", "random" or ("among", k)
    Which split a node gets: the best one; the best of one random split per column; or a random one of the k best. The
    last two make trees different, for ensembles.
bootstrap : bool
    Whether each tree is grown from a sample of the rows, drawn with replacement, or from all rows.
max_samples [forest] : int, float or None
    Size of the bootstrap sample, as a number of rows or a fraction of them; None is the number of rows. Lower it for
    faster and more different trees.
max_samples [bagging] : int, float or None
    Rows drawn for each member, as a number or as a fraction, which may be above 1; None is the number of rows. If rows
    have weights and are drawn with replacement, it is a fraction of the sum of the weights.
max_features [single] : int, float, "sqrt", "log2" or None
    Columns drawn at random for each node, as a number or a fraction of the columns; None uses all.
max_features [single random_tree] : int, float, "sqrt", "log2" or None
    Columns drawn at random for each node, as a number or a fraction of the columns; None uses all. With more columns
    the trees are better, and more similar.
max_features [forest] : "auto", int, float, "sqrt", "log2" or None
    Columns drawn at random for each node, as a number or a fraction of the columns; None uses all. With fewer columns
    the trees differ more. "auto" compares several values by their out-of-bag error, on a sample of large tables.
max_features [boosting] : "auto", int, float, "sqrt", "log2" or None
    Columns drawn at random for each node, as a number or a fraction of the columns; None uses all. "auto" is 1.0, but
    0.5 with a validation set and up to 50,000 rows; for oblivious trees 0.7 up to 20,000 rows.
max_features [bagging] : int or float
    Columns drawn for each member, as a number or as a fraction of the columns.
max_features [bagging subspace] : int or float
    Columns drawn for each member, as a number or as a fraction of the columns; Ho uses half of them.
replace : bool
    Whether rows are drawn with replacement. False is called pasting.
replace_features : bool
    Whether columns are drawn with replacement.
voting : {"soft", "hard"}
    Whether the class probabilities of the members are averaged, or each member votes for one class. A member without
    `predict_proba` always votes.
voting [forest] : {"soft", "hard"}
    Whether the class probabilities of the trees are averaged, or each tree votes for one class.
voting [voting] : {"hard", "soft"}
    Whether each member votes for one class, with ties decided for the first class, or the class probabilities are
    averaged. "soft" is better where the probabilities of all members are well calibrated.
weights [classes] : one number per member or None
    Weight of each member's vote; None gives all the same weight.
weights [numbers] : one number per member or None
    Weight of each member in the mean; None gives all the same weight.
flatten_transform : bool
    Whether `transform` of soft voting returns one matrix, with the members' class probabilities side by side. False
    returns a matrix per member: [member, row, class].
prior : one number per member, dict of names and numbers, or None
    Prior probability of each member; None is the same for all. Give a simple model more where it should win unless the
    data contradict it.
approximation : {"bootstrap", "plain"}
    How the posterior is computed: as the mean over bootstrap samples of the rows, or as the prior times the
    pseudo-marginal likelihood, which nearly always selects one member.
stack_method : {"auto", "predict_proba", "decision_function", "predict"}
    The method of the members whose results are the features of the final estimator; "auto" is the first of these that a
    member has.
passthrough : bool
    Whether the final estimator also gets the table, as numbers from a `TablePreparer`; a table of numbers as it is.
cv : int, splitter or None
    Cross-validation folds; None is five folds, which are always the same.
cv [stacking] : int, splitter, "prefit" or None
    Cross-validation folds; None is five folds, which are always the same. "prefit" uses members that are fitted
    already; then fit on rows that they were not fitted to.
class_weight : dict, "balanced" or None
    Weight of a row of each class. "balanced" gives all classes the same total weight; use it where rare classes matter.
class_weight [forest] : dict, "balanced", "balanced_subsample" or None
    Weight of a row of each class. "balanced" gives all classes the same total weight, "balanced_subsample" does so in
    each tree's sample. Use them where rare classes matter.
max_depth : int or None
    Largest number of splits from the root to a leaf. Lower it for a tree that is easier to read and overfits less.
max_depth [forest] : int or None
    Largest number of splits from the root to a leaf. Deep trees are usual: the average of many trees does not overfit.
max_depth [boosting] : int or None
    Largest number of splits from the root to a leaf. None is no limit: `max_leaf_nodes` limits the size of a tree.
max_depth [oblivious] : int
    Number of splits, one per level, at most 16. Each level doubles the number of leaves.
min_samples_split : int or float
    Least number of rows, or fraction of all rows, of a node that is split.
min_samples_leaf : int or float
    Least number of rows, or fraction of all rows, on each side of a split. Raise it for noisy data.
min_samples_leaf [c45] : int or float
    Least weight, or fraction of all rows, that at least two branches of a split have. Raise it for noisy data.
min_samples_leaf [forest] : "auto", int or float
    Least number of rows, or fraction of all rows, on each side of a split. Larger leaves give smoother predictions.
    "auto" compares 1, 3 and 10 by their out-of-bag error, on a sample of large tables.
min_samples_leaf [boosting] : int or "auto"
    Least number of rows on each side of a split. "auto" is a hundredth of the rows, at most 20. With a validation set
    it is at most 3 up to 20,000 rows, and 1 for oblivious trees.
min_weight_fraction_leaf : float
    Least fraction of the total weight of all rows that each side of a split has. Use it instead of `min_samples_leaf`
    where the weights of the rows differ.
min_child_weight : float
    Least sum of hessians on each side of a split. Raise it for noisy data.
min_split_gain : float
    Least gain of a split, in the unit of the criterion. With 0.0 nodes are also split without gain, because a useful
    split may need another one above it.
min_impurity_decrease : float
    Least gain of a split times the fraction of all rows, by weight, at its node, as in scikit-learn. With it forests
    are grown tree by tree, which is slower.
min_split_gain [id3] : float
    Least information gain of a split, in bits. With 0.0 nodes are also split without gain, because a useful split may
    need another one above it; 1e-6 stops there, as Weka does.
min_split_gain [oblivious] : float
    Least gain of a split over all rows, in the unit of the criterion.
min_split_gain [boosting] : float
    Least reduction of the loss by a split. Raise it for smaller trees.
min_impurity_decrease [boosting] : float
    Least reduction of the mean squared error of the gradients by a split, over all rows, as in scikit-learn. Unlike
    `min_split_gain` it does not depend on the number of rows.
max_p_value : float
    Largest p-value of the chi-squared test for a split: the probability of such a difference between the branches by
    chance. 0.05 or 0.01 stop growth early; 1.0 turns the test off.
max_leaf_nodes : int or None
    Largest number of leaves; the node whose split has the highest gain is split first. Lower it for a small tree.
max_leaf_nodes [boosting] : int
    Largest number of leaves of a tree, unless it is oblivious. Raise it for large tables with many interactions.
max_bins : int
    Largest number of bins of about equal size into which the values of a numeric column are grouped before growth.
l1_regularization : float
    L1 penalty on the values of the leaves. Raise it for noisy data.
l2_regularization : float
    L2 penalty on the values of the leaves. Raise it for noisy data.
subsample : float or "auto"
    Fraction of the rows from which each tree is grown, drawn without replacement. "auto" is 0.7 with a validation set
    and up to 20,000 rows, and otherwise 1.0.
goss : (float, float), True or None
    Gradient-based one-side sampling, for large tables: the fraction of rows with the largest gradients that are kept,
    and the fraction that is drawn from the others and weighted up. True is (0.2, 0.1).
colsample_bytree : float
    Fraction of the columns drawn for each tree. Lower it for many similar columns.
colsample_bylevel : float
    Fraction of the columns of a tree drawn for each of its levels.
monotonic_cst [classes] : dict, list or None
    Monotonic constraints: columns with which the probability of the second of two classes must rise (1) or fall (-1),
    by name or position, or one entry per column.
monotonic_cst [numbers] : dict, list or None
    Monotonic constraints: columns with which the prediction must rise (1) or fall (-1), by name or position, or one
    entry per column.
interaction_cst : list of lists, "pairwise", "no_interactions" or None
    Interaction constraints: groups of columns, by name or position, that may be used together on a path from the root
    to a leaf. Columns in no group are one more group. "pairwise" allows every pair of columns, "no_interactions"
    a single column per path.
prune [classes] : str or None
    How the grown tree is pruned: one of the methods of `treewright.prune`, which are "cost_complexity" (the safe choice
    for noisy data), "reduced_error", "error_based", "pessimistic", "minimum_description_length" and "collapse". None
    does not prune.
prune [numbers] : str or None
    How the grown tree is pruned: one of the methods of `treewright.prune` for numbers, which are "cost_complexity" (the
    safe choice for noisy data), "reduced_error" and "collapse". None does not prune.
prune [c45 classes] : {"error_based", "reduced_error", None} or another method of `treewright.prune`
    How the grown tree is pruned: by C4.5's upper bounds of the error, or on a validation set. With None, only splits
    that do not reduce the training errors are removed.
ccp_alpha : float, "cv" or "1se"
    For prune="cost_complexity": the cost of a leaf, as a fraction of the total weight. "cv" chooses it by ten-fold
    cross-validation. "1se" chooses the smallest tree within one standard error of the best, which is easier to read.
    The folds are not random. With prune=None a number above 0 is the cost of a leaf in impurity, as in scikit-learn.
confidence : float
    For prune="error_based": the confidence level of the error bounds. Lower it for a smaller tree.
subtree_raising : bool
    For prune="error_based": whether the largest branch of a node may replace the node.
validation_fraction [single] : float
    For prune="reduced_error": the fraction of the rows in the validation set. The tree is grown from the other rows.
validation_fraction [boosting] : float or None
    Fraction of the rows in the validation set on which the number of rounds, at most `n_estimators`, is chosen; the
    model is then fitted to all rows. With None there is a validation set only if `n_estimators` is "auto".
variant : {"j48", "c4.5r8"}
    Whose error bounds are used where they differ: those of Weka's J48, or of release 8 of Quinlan's C4.5.
min_bucket : float
    Least weight of the majority class in an interval of a number. Raise it for fewer intervals and less overfitting;
    Holte uses 6.
missing : str
    How missing values are treated in training and prediction: "learned" (the better side of each split, or a side of
    their own), "fractional" (a fractional instance in every branch), "majority", "class_majority" or "model"
    (imputation before growth), "branch" (a value of its own), "every_value", "all_branches", "surrogate" or "error".
    See `docs/missing_values.md`.
missing [oblivious] : str
    How missing values are treated in training and prediction: "learned" (the better side of each split, or a side of
    their own), "fractional" (a fractional instance in every branch), "majority", "class_majority" or "model"
    (imputation before growth), "branch" (a value of its own), "every_value", "all_branches", "surrogate" or "error".
    All nodes of a level have the same side for "branch" and the same surrogates. See `docs/missing_values.md`.
missing [oner] : str
    How missing values are treated in training and prediction: "branch" (a value of their own, as in Weka), "learned"
    (the branch with the fewest errors), "fractional" (a fractional instance in every branch), "every_value",
    "all_branches", "surrogate", "majority", "class_majority" or "model" (imputation before growth), or "error". The
    intervals of a number depend only on the rows that have a value. Where a column has no missing values in training,
    they go to the branch with the most rows.
unseen : {"as_missing", "stop", "majority", "error"}
    How categories that training did not have are treated: as missing values, by the prediction of the node that splits
    on them, as the branch with the most rows, or as an error.
unseen [boosting] : {"as_missing", "error"}
    How categories that training did not have are treated: as missing values, or as an error.
misclassification_costs : dict or None
    Costs of errors, {("actual", "predicted"): cost}; errors that are not named cost 1. They change both the growth of
    the tree and the predicted class.
smoothing : "laplace", ("m_estimate", m), "auto" or None
    Smoothing of the class probabilities in small leaves: one more row of each class, or m more rows with the class
    distribution of the whole table. "laplace" never changes the predicted class. "auto" is "laplace", and None with
    `misclassification_costs`.
n_iter_no_change : int
    Boosting stops after this number of rounds without a lower validation loss, or a higher score of `scoring`.
tol : float
    The least fall of the validation loss, or rise of the score, that counts as better.
scoring : "loss", str, function or None
    What is compared on the validation set after each round to stop and to choose: the loss; the score of a scorer of
    scikit-learn, by name or as a function of model, table and target; a function of target and prediction as in
    `eval_metric`; or the accuracy or coefficient of determination (None). Of scores, more is better.
train_score : bool
    Whether to record the training loss after each round as `train_score_`, and with `subsample` below 1 that of the
    rows that were not drawn. It takes time for large tables.
eval_metric : str, function, list of them or None
    Metrics that are recorded on the validation set next to the loss, in `evals_result_`: functions of scikit-learn by
    name, such as "accuracy_score", or functions of the target and the prediction. They do not influence the model.
init [classes] : classifier, "zero" or None
    The model whose predicted probabilities the trees start from; "zero" starts from scores of 0, None from the class
    distribution. It is fitted to all training rows, also those that early stopping holds out: give a simple model, or
    `X_val` and `y_val`. It is part of the model.
init [numbers] : regressor, "zero" or None
    The model whose predictions the trees start from; "zero" starts from scores of 0, None from the best constant. It
    is fitted to all training rows, also those that early stopping holds out: give a simple model, or `X_val` and
    `y_val`. It is part of the model.
oob_score [classes] : bool or function
    Whether to compute the out-of-bag accuracy, on rows that a member was not fitted to, as `oob_score_`. A function of
    target and prediction replaces the accuracy.
oob_score [numbers] : bool or function
    Whether to compute the out-of-bag coefficient of determination, on rows that a member was not fitted to, as
    `oob_score_`. A function of target and prediction replaces it.
warm_start [bagging] : bool
    Whether to keep the members of the last fit and fit only those that `n_estimators` adds to them.
warm_start [forest] : bool
    Whether to keep the trees of the last fit and grow only those that `n_estimators` adds to them.
warm_start [boosting] : bool
    Whether to keep the trees of the last fit and boost only the rounds that `n_estimators` adds to them.
keep_on_interrupt : bool
    Whether Ctrl-C ends boosting with the trees so far instead of an error. While the number of rounds is being chosen
    there are no trees to keep.
checkpoint : path or None
    A file that has the model so far, written anew every `checkpoint_every` trees or rounds. If it exists, the fit goes
    on with it, and ends with the same model, bit for bit. One of other data or parameters is refused.
checkpoint_every [forest] : int
    Number of trees between two writings of `checkpoint`.
checkpoint_every [boosting] : int
    Number of rounds between two writings of `checkpoint`.
quantiles : bool
    Whether to keep the targets and leaves of the training rows, which `predict_quantiles` needs.
max_categories : int
    Largest number of columns for one categorical column. If it has more categories, the rarest ones share one column.
    Raise it where rare categories matter and there are many rows.
scale [preparer] : bool or "auto"
    Whether numbers are scaled to mean 0 and standard deviation 1. "auto" scales them unless all columns are numbers.
categorical_features : list of names or positions, mask, "all" or None
    Columns that are treated as categorical, such as numeric codes that are no quantities.
numeric_features : list of names or positions, mask, "all" or None
    Columns that are treated as numeric, such as numbers stored as text.
random_state : int, RandomState, Generator or None
    Seed of all random choices. The same seed gives the same model, bit for bit, for any number of threads. A Generator
    or RandomState of NumPy is drawn from once, so that a second fit with it differs.
random_state [general] : int, RandomState, Generator or None
    Seed of all random choices: `splitter` and `max_features`. Without these it has no effect.
random_state [adaboost classes] : int, RandomState, Generator or None
    Seed of the members, if they are random. The default member is not.
random_state [adaboost numbers] : int, RandomState, Generator or None
    Seed of the samples, and of the members if they are random.
n_jobs : int or None
    Number of threads; None uses all cores. The model does not depend on it.
n_jobs [bagging] : int or None
    Number of threads; None uses all cores for trees of this library and one for other estimators.
n_jobs [combination] : int or None
    Number of members that are fitted at the same time; None is one, -1 uses all cores.
progress : bool or None
    Whether to show progress after two seconds; None shows it in terminals and notebooks.
verbose [boosting] : int or None
    What is printed while the rounds are added: 0 nothing; 1 the loss of the training rows after the first ten rounds,
    then after every tenth, hundredth and so on; 2 after every round. It is then recorded as `train_score_`. None leaves
    it to `progress`.
verbose : int or None
    The same under scikit-learn's name: 0 shows nothing, any larger number shows progress; None leaves it to `progress`.
"""

ATTRIBUTES = """
tree_ : Tree
    The fitted tree.
ccp_alpha_ : float
    With pruning by the cost of a leaf: the cost that was used.
forest_ : Forest
    The trees as one value; `forest_[i]` is a single tree.
forests_ : list of Forest
    The trees, one forest per output.
stages_ : StageList
    For each round its error, its weight in the vote, the sum of the row weights before they were normalised, and the
    row weights.
weights_ : ndarray
    The posterior weight of each member; the sum is 1.
posterior_ : Posterior
    The weights with prior and log-likelihood; prints as a table.
estimators_ [forest] : sequence of trees
    The trees as fitted estimators, created on access.
estimators_ [boosting] : ndarray of trees
    The trees as fitted regressors, created on access: [round, output].
init_ : estimator or None
    The fitted model of `init`.
estimators_ [meta classes] : list of classifiers
    The fitted members.
estimators_ [meta numbers] : list of regressors
    The fitted members.
named_estimators_ : Bunch
    The fitted members by name.
final_estimator_ : estimator
    The fitted final estimator.
stack_method_ : list of str
    The method of each member whose results are the features of the final estimator.
ensemble_ [voting classes] : sklearn.ensemble.VotingClassifier
    The fitted ensemble of scikit-learn.
ensemble_ [voting numbers] : sklearn.ensemble.VotingRegressor
    The fitted ensemble of scikit-learn.
ensemble_ [stacking classes] : sklearn.ensemble.StackingClassifier
    The fitted ensemble of scikit-learn.
ensemble_ [stacking numbers] : sklearn.ensemble.StackingRegressor
    The fitted ensemble of scikit-learn.
estimator_weights_ : ndarray
    The weight of each member in the vote.
estimator_errors_ : ndarray
    The error of each member.
estimators_samples_ : list of arrays
    The rows that each member was fitted to, as often as they were drawn.
estimator_ [meta] : estimator
    The estimator that the members are copies of.
estimators_features_ : list of arrays
    The positions of the columns that each member was fitted to.
n_estimators_ [forest] : int
    The number of trees.
n_estimators_ [boosting] : int
    The number of rounds.
learning_rate_ : float
    The learning rate that was used.
validation_loss_ : ndarray
    The loss on the validation set after each round; with folds the mean.
evals_result_ : dict
    The validation loss and the metrics of `eval_metric`, as {"validation": {"log_loss": [...]}}; empty without
    validation set. With several sets in `eval_set` they are "validation_0", "validation_1" and so on.
best_iteration_ : int or None
    The number of rounds with the least validation loss, or the highest score of `scoring`.
best_score_ : float or None
    The least validation loss, or the highest score of `scoring`.
train_score_ : ndarray
    With `train_score`: the loss of the drawn training rows after each round, in the unit of `validation_loss_`.
oob_scores_ : ndarray
    With `train_score` and `subsample` below 1: the loss of the rows that a round did not draw, after it.
oob_improvement_ : ndarray
    With `train_score` and `subsample` below 1: by how much each round reduced the loss of the rows it did not draw.
classes_ [classes] : ndarray
    The classes in ascending order; of several targets a list.
n_classes_ [classes] : int
    The number of classes; of several targets a list.
n_outputs_ : int
    The number of targets.
columns_ : tuple of Column
    The columns of the training table.
n_features_in_ : int
    The number of columns.
feature_names_in_ : ndarray
    The names of the columns, if the table has names.
data_digest_ : str
    The digest of the training table, its target and the weights; models of the same data have the same digest.
feature_importances_ : ndarray
    The fraction of each column in the total gain of all splits.
feature_importances_ [meta] : ndarray
    The importance of each column for the members, if they have `feature_importances_`; the sum is 1.
oob_score_ : float
    With `oob_score`: the out-of-bag score.
oob_decision_function_ [classes] : ndarray
    With `oob_score`: the out-of-bag class probabilities of each training row, NaN where no member left the row out.
oob_prediction_ [numbers] : ndarray
    With `oob_score`: the out-of-bag prediction of each training row, NaN where no member left the row out.
"""

_COLUMNS = ("n_features_in_", "feature_names_in_")
_DATA = (*_COLUMNS, "data_digest_")
_OUT_OF_BAG = ("oob_score_", "oob_decision_function_", "oob_prediction_")
_MEMBERS = ("estimators_", "named_estimators_", "classes_", *_DATA)

# The attributes of the classes with a tag; those that have no entry for a class are left out.
ATTRIBUTES_BY_TAG = {
    "single": ("tree_", "classes_", "n_classes_", "n_outputs_", *_DATA, "feature_importances_"),
    "cost_complexity": ("ccp_alpha_",),
    "forest": (
        *("forest_", "estimators_", "estimators_samples_", "n_estimators_"),
        *("classes_", "n_outputs_", *_DATA, "feature_importances_", *_OUT_OF_BAG),
    ),
    "boosting": (
        *("forests_", "estimators_", "init_", "n_estimators_", "learning_rate_", "validation_loss_", "evals_result_"),
        *("best_iteration_", "best_score_", "train_score_", "oob_scores_", "oob_improvement_"),
        *("classes_", *_DATA, "feature_importances_"),
    ),
    "adaboost": (
        *("stages_", "estimator_", "estimators_", "estimator_weights_", "estimator_errors_"),
        *("classes_", "n_classes_", *_DATA, "feature_importances_"),
    ),
    "bagging": (
        *("estimator_", "estimators_", "estimators_samples_", "estimators_features_"),
        *("classes_", *_DATA, "feature_importances_"),
    ),
    "out_of_bag": _OUT_OF_BAG,
    "voting": (*_MEMBERS, "ensemble_"),
    "stacking": ("final_estimator_", "stack_method_", *_MEMBERS, "ensemble_"),
    "averaging": ("weights_", "posterior_", *_MEMBERS),
    "preparer": ("columns_", *_COLUMNS),
}

# Sections of a class docstring that numpydoc puts after the attributes.
LATER_SECTIONS = ("References", "Examples")

TAGS_ATTRIBUTE = "_documentation_tags"

AnyClass = TypeVar("AnyClass", bound=type)


@dataclass(frozen=True)
class Entry:
    """The documentation of a parameter or attribute, and the tags of the classes for which it holds."""

    name: str
    tags: frozenset[str]
    type: str
    description: str


Table = Mapping[str, tuple[Entry, ...]]


def documented(*tags: str) -> Callable[[AnyClass], AnyClass]:
    """Add the sections `Parameters` and `Attributes` to the docstring of a class, before its examples.

    >>> @documented("single", "classes")
    ... class Stump:
    ...     '''A tree with one split.'''
    ...
    ...     def __init__(self, *, n_jobs=None): ...
    >>> print(Stump.__doc__.split("Attributes")[0])
    A tree with one split.
    <BLANKLINE>
    Parameters
    ----------
    n_jobs : int or None, default=None
        Number of threads; None uses all cores. The model does not depend on it.
    <BLANKLINE>
    <BLANKLINE>
    """

    def decorate(cls: AnyClass) -> AnyClass:
        setattr(cls, TAGS_ATTRIBUTE, frozenset(tags))
        if cls.__doc__ is not None:  # python -OO removes docstrings
            cls.__doc__ = _with_sections(inspect.cleandoc(cls.__doc__), cls)
        return cls

    return decorate


def parameter_entries(cls: type) -> Iterator[tuple[Entry, Any]]:
    """The entry and the default of each parameter of a documented class, in the order of its signature."""
    for parameter in inspect.signature(cls).parameters.values():
        entry = _entry(_parameter_table(), parameter.name, _tags(cls))
        if entry is None:
            raise KeyError(f"parameter {parameter.name!r} of {cls.__name__} has no entry in PARAMETERS; add one")
        yield entry, parameter.default


def attribute_entries(cls: type) -> Iterator[Entry]:
    """The entries of the attributes that a documented class has after `fit`."""
    tags = _tags(cls)
    for tag, names in ATTRIBUTES_BY_TAG.items():
        for name in names if tag in tags else ():
            entry = _entry(_attribute_table(), name, tags)
            if entry is not None:
                yield entry


def read_entries(text: str) -> Table:
    """All entries of a table by name.

    >>> read_entries("cv [stacking] : int\\n    Folds.\\n")["cv"]
    (Entry(name='cv', tags=frozenset({'stacking'}), type='int', description='    Folds.'),)
    """
    table: dict[str, tuple[Entry, ...]] = {}
    for block in ("\n" + text.strip("\n")).replace("\n    ", "\0    ").split("\n")[1:]:
        head, _, description = block.partition("\0")
        named, _, type_text = head.partition(" : ")
        name, _, tags = named.removesuffix("]").partition(" [")
        entry = Entry(name, frozenset(tags.split()), type_text, description.replace("\0", "\n"))
        table[name] = (*table.get(name, ()), entry)
    return table


def write_default(value: Any) -> str:
    """A default as Python code, a third as a fraction.

    >>> [write_default(value) for value in ("cv", None, 0.001, 1 / 3)]
    ['"cv"', 'None', '0.001', '1/3']
    """
    if isinstance(value, str):
        return f'"{value}"'
    return "1/3" if value == 1 / 3 else repr(value)


def _with_sections(docstring: str, cls: type) -> str:
    parameters = [
        f"{entry.name} : {entry.type}, default={write_default(default)}\n{entry.description}"
        for entry, default in parameter_entries(cls)
    ]
    attributes = [f"{entry.name} : {entry.type}\n{entry.description}" for entry in attribute_entries(cls)]
    places = [place for title in LATER_SECTIONS if (place := docstring.find(f"\n\n{title}\n---")) >= 0]
    end = min(places, default=len(docstring))
    sections = [docstring[:end], "\n".join(["Parameters", "----------", *parameters])]
    sections += ["\n".join(["Attributes", "----------", *attributes])] if attributes else []
    return "\n\n".join(sections) + docstring[end:]


def _entry(table: Table, name: str, tags: frozenset[str]) -> Entry | None:
    fitting = [entry for entry in table.get(name, ()) if entry.tags <= tags]
    return max(fitting, key=lambda entry: len(entry.tags), default=None)


def _tags(cls: type) -> frozenset[str]:
    tags: frozenset[str] = getattr(cls, TAGS_ATTRIBUTE)
    return tags


@cache
def _parameter_table() -> Table:
    return read_entries(PARAMETERS)


@cache
def _attribute_table() -> Table:
    return read_entries(ATTRIBUTES)
