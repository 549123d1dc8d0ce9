"""The statements, one after the other, in the order of the paper."""

from __future__ import annotations

from trimtab.paper.errata import adversarial, lazy, structure
from trimtab.paper.errata.entry import Erratum

ERRATA: tuple[Erratum, ...] = (
    Erratum(
        key="cold-start",
        title="The first epoch of Algorithm 1",
        place="Algorithm 1, line 3, and Appendix B",
        kind="false",
        printed=r"The initial state is arbitrary; Appendix B suggests the zero vector.",
        example=r"$\phi(s) = s$, $\theta^* = -1$, started at $s = 0$. Then $\|\phi\| = 0$, $\det "
        r"V$ "
        r"never grows, the trigger never fires, and the regret is $T$. At $s_0 = 0.01$ the first "
        r"epoch "
        r"has 10,001 rounds.",
        corrected=r"Minimise the LCB before the first round. Or play $s_0$ and charge it: on the "
        r"good event "
        r"the first epoch costs at most $n_1 (2 W_0 + \mathrm{gap}_0)$.",
        proof=r"The regret bound of a round needs the played state to minimise the LCB of its "
        r"epoch; "
        r"for the first epoch of the listing nothing does.",
        test="test_s0_zero_with_linear_features",
        run=lazy.cold_start,
    ),
    Erratum(
        key="radius-one-dimension",
        title="The confidence radius in one dimension",
        place="Lemma (confidence ellipsoid), Appendix C",
        kind="false",
        printed=r"With probability $1 - \delta$, for all $t$: $\|\hat\theta_t - \theta^*\|_{V_t} "
        r"\leq "
        r"\sigma \sqrt{d \log((1 + t L^2 / \lambda) / \delta)} + \sqrt{\lambda} S$.",
        example=r"$d = 1$, $k = 1$, $\phi = 1$, $\lambda = 1$, $\theta^* = 0$, $\delta = 0.01$.",
        corrected=r"$\beta_{t,i} = \sigma_i \sqrt{\log\det V_{t,i} - d_i \log \lambda_i + "
        r"2 \log(m / \delta)} + \sqrt{\lambda_i} S_i$ for all $t$ and all $m$ criteria together.",
        proof=r"The method of mixtures gives $\|S_t\|^2_{V_t^{-1}} \leq \sigma^2 (\log\det V_t - "
        r"d \log \lambda + "
        r"2 \log(1/\delta))$. The printed term has $d \log(1/\delta)$ in the place of $2 "
        r"\log(1/\delta)$, which "
        r"is too small for $d = 1$: in continuous time the failure probability is exactly "
        r"$\sqrt{\delta}$.",
        test="test_coverage_of_the_radii",
        run=lazy.radius_of_one_dimension,
    ),
    Erratum(
        key="radius-union",
        title="No union over the criteria",
        place="Lemma (confidence ellipsoid), and the good event of Theorem 1",
        kind="false",
        printed=r"The ellipsoids of all $k$ criteria hold together with probability $1 - \delta$.",
        example=r"$k = 10$ isolated criteria, $d = 2$, unit features, $\delta = 0.1$.",
        corrected=r"Use $\delta / m$ for each of the $m$ criteria. A union over $t$ is not "
        r"needed: the bound "
        r"holds at all times.",
        proof=r"The events of isolated criteria are independent: if each fails with probability "
        r"$p$, some one "
        r"fails with probability $1 - (1 - p)^k$.",
        test="test_coverage_of_the_radii",
        run=lazy.radii_of_ten_criteria,
    ),
    Erratum(
        key="epoch-error",
        title="The error of an epoch",
        place="Lemma (error per epoch)",
        kind="false",
        printed=r"$S_j = \sum_{t \in \mathrm{epoch}} \|\phi_t\|^2_{V_\tau^{-1}} \leq 3$. The "
        r"experiments use "
        r"$\lambda = 0.1$ and $0.01$.",
        example=r"$d = 1$, $\phi = 1$, $\lambda = 0.1$: one round ends the epoch.",
        corrected=r"$S_j \leq (C - 1) + L^2 / \lambda$, and this is attained. With $C = 2$ and "
        r"$L^2 \leq \lambda$ it "
        r"is 2.",
        proof=r"Before the last round of the epoch $\prod (1 + \mu_t) \leq C$, hence $\sum \mu_t "
        r"\leq C - 1$; the last "
        r"round adds at most $L^2 / \lambda$.",
        test="test_epoch_spread_is_attained",
        run=lazy.epoch_error,
    ),
    Erratum(
        key="epochs-of-others",
        title="The sum over epochs in the proof of Theorem 1",
        place="Theorem (regret of Lazy Graph-LinUCB), step 2 of the proof",
        kind="gap in the proof",
        printed=r"$\sum_t \|\phi_i(s_t)\|_{V_{\tau(t),i}^{-1}} \leq \sqrt{3 M_i T}$, $M_i$ the "
        r"triggers of "
        r"criterion $i$.",
        example=r"Two criteria, $\phi_1 = 1$, $\phi_2 = 1/2$, $\lambda = 1$. Criterion 1 ends "
        r"every epoch, so "
        r"$M_2 = 0$ for ever.",
        corrected=r"$R_{\mathrm{pred}} \leq 2 \sum_i \beta_{T,i} \sqrt{c_i T \Gamma_i} + \sum_j "
        r"n_j \epsilon_j$, "
        r"$c_i = \bar S_i / \log(1 + \bar S_i)$, $\bar S_i = (C - 1) + L_i^2 / \lambda_i$, "
        r"$\Gamma_i = \log\det V_{T,i} - d_i \log \lambda_i$.",
        proof=r"With a constant state, $1 + S_{j,i}$ is the factor by which epoch $j$ multiplies "
        r"$\det V_i$, "
        r"whoever ended it. So $\sum_j \log(1 + S_{j,i}) = \Gamma_i$, and $x \leq c \log(1 + x)$ "
        r"on "
        r"$[0, \bar S]$. Cauchy-Schwarz over all epochs gives the claim. The order of the "
        r"theorem stands.",
        test="test_theorem_1_prime",
        run=lazy.epochs_of_others,
    ),
    Erratum(
        key="natural-logarithm",
        title="The base of the logarithm",
        place="Corollary (graph misspecification), update bound",
        kind="false",
        printed=r"$M \leq \sum_i d'_i \log(1 + T L^2 / (d'_i \lambda))$ with the natural "
        r"logarithm.",
        example=r"$d = 1$, $\phi = 1$, $\lambda = 1$, $T = 10^6$.",
        corrected=r"$M \leq \sum_i d'_i \log_2(1 + T L^2 / (d'_i \lambda))$, as in the lemma on "
        r"the number of epochs.",
        proof=r"Each trigger of a criterion doubles its determinant, and $\Gamma_i \leq d_i "
        r"\log(1 + T L^2 / (d_i \lambda))$.",
        test="test_printed_misspecified_epochs_are_exceeded",
        run=lazy.natural_logarithm,
    ),
    Erratum(
        key="not-nested",
        title="Super-graphs and random Fourier features",
        place="Corollary (graph misspecification), first paragraph of the proof",
        kind="false",
        printed=r"The features of a super-graph span a space that contains the features of the "
        r"graph.",
        example=r"A cosine of one knob, and 20 random Fourier features of two.",
        corrected=r"True for nested bases: linear, and all monomials of a scope up to a degree. "
        r"Random Fourier "
        r"features need groups: one set per knob and one per pair.",
        proof=r"A random frequency of the larger neighbourhood has no zero entry with "
        r"probability 1.",
        test="test_corollary_graph_misspecification",
        run=lazy.features_that_are_not_nested,
    ),
    Erratum(
        key="lower-bound",
        title="Tightness where scopes overlap",
        place="Theorem (minimax lower bound), and the comparison to the naive reduction",
        kind="false",
        printed=r"The dependency on $\sum_i d_i$ is tight, and the naive reduction to a sum is "
        r"worse.",
        example=r"A clique of $m$ linear criteria: $\sum_i d_i = m^2$, and the sum of the losses "
        r"is one linear "
        r"function of $m$ knobs with noise $\sqrt{m} \sigma$.",
        corrected=r"$\Omega(\sqrt{T} \sum_i d_i)$ holds for isolated criteria. For criteria of "
        r"equal scope and basis the "
        r"regret of the pooled problem is $\tilde O(m^{1.5} \sqrt{T})$.",
        proof=r"Pool the criteria of a clique: one regression in dimension $m$, "
        r"$\sigma^2_{\mathrm{pool}} = m \sigma^2$, and Theorem 1 for it.",
        test="test_the_width_shrinks_by_more_than_the_root",
        run=lazy.summed_feedback,
    ),
    Erratum(
        key="assumption-a",
        title="A larger ridge parameter does not make the LCB convex",
        place="Lemma (justification of Assumption A), Appendix C",
        kind="false",
        printed=r"For $\lambda > \beta C(\phi)$ the LCB is $(\lambda - \beta C(\phi))$-strongly "
        r"convex in $s$.",
        example=r"$\phi(s) = (1, s)$, $V = \lambda I$, $\beta = \sqrt{\lambda} S$: the LCB is "
        r"$-S \sqrt{1 + s^2}$ for "
        r"every $\lambda$, strictly concave.",
        corrected=r"With linear features the LCB is concave for every $\lambda$. With others it "
        r"is in general neither; "
        r"its global minimum needs several starts, or a lower bound by branch and bound.",
        proof=r"The ridge penalty acts on $\theta$; the LCB holds no $\frac{\lambda}{2} "
        r"\|s\|^2$. Its second part is minus a "
        r"norm of features, and $\beta \geq \sqrt{\lambda} S$ grows with $\lambda$.",
        test="test_linear_features_make_the_bound_concave",
        run=structure.bonus_is_not_convex,
    ),
    Erratum(
        key="curvature",
        title="The curvature of the bonus for quadratics",
        place="Lemma (justification of Assumption A), last paragraph",
        kind="false",
        printed=r"$C(\phi) = 0$ for the pairwise quadratic basis.",
        example=r"$\phi(s) = (1, s, s^2)$, $V = I$, at $s = 0$.",
        corrected=r"$C(\phi)$ is not 0, and infinite where $\phi$ vanishes.",
        proof=r"$\|\phi(s)\| = \sqrt{1 + s^2 + s^4}$ has second derivative 1 at 0. Bounded is "
        r"not zero.",
        test="test_the_bound_of_quadratics_and_waves_is_not_convex_for_any_reg",
        run=structure.curvature_of_quadratics,
    ),
    Erratum(
        key="async-stuck",
        title="Asynchronous updates can be stuck for ever",
        place="Theorem (regret of asynchronous updates), part (b)",
        kind="false",
        printed=r"Under the assumptions, block updates reach the regret of the global ones.",
        example=r"Four knobs on a path, at 0 or 1: $10 \phi_i = c_i + h z_i - z_i \sum_{j \in "
        r"N(i)} z_j$ with "
        r"$z = 2s - 1$, $h = 0.2$ and $c = (4, 5.1, 6.3, 7.5)$; only a scale per criterion is "
        r"unknown. All ones is left by no "
        r"neighbourhood, since at most three of four knobs move and a boundary costs more than "
        r"$h$ gains.",
        corrected=r"$r_t \leq 2 W(s_t) + \mathrm{Gap}_t$ with $\mathrm{Gap}_t = F(s_t) - \min "
        r"F$, and nothing bounds "
        r"the gap of block updates. Where every component is a clique the block is the "
        r"component, the gap "
        r"is 0, and the theorem holds. A global solve whenever the clock has doubled repairs the "
        r"rest.",
        proof=r"Part (a) holds for every schedule. On the path the LCB tends to the loss, whose "
        r"block-wise minima "
        r"are not all global. Three knobs are too few: the middle one reads all.",
        test="test_async_counterexample_has_linear_regret",
        run=structure.blocks_get_stuck,
    ),
    Erratum(
        key="product-dependency",
        title="What is the coefficient of a neighbour?",
        place="Assumption B, and step 2 of Adaptive Graph Refinement",
        kind="undefined",
        printed=r"Include $j$ if $|\hat\theta_{i,j}| > \gamma / 2$.",
        example=r"$\mu_i = s_i s_j$ in the basis of Example 1: $j$ owns $s_j$ and $s_i s_j$.",
        corrected=r"With $G$ the features that $j$ owns, include $j$ if $\hat\theta_G^{T} "
        r"[(V^{-1})_{GG}]^{-1} "
        r"\hat\theta_G > \beta^2$. Never a false inclusion on the good event; certain inclusion if "
        r"$\|\theta^*_G\|_{[(V^{-1})_{GG}]^{-1}} > 2 \beta$, after a quarter of the printed "
        r"warm-up.",
        proof=r"The left side is the squared distance of the ellipsoid's centre from $\theta_G = "
        r"0$.",
        test="test_statistics_equal_the_dense_formulas",
        run=structure.product_dependency,
    ),
    Erratum(
        key="diverse-contexts",
        title="Diverse contexts under lazy play",
        place="Assumption C",
        kind="false",
        printed=r"$\lambda_{\min}(V_\tau) \geq \kappa \tau$ during the warm-up of LazyGraphLinUCB.",
        example=r"Two criteria of two knobs, Example 1's basis, one run.",
        corrected=r"Play a design: $V$ depends on how often a state was visited, not on the "
        r"order, so that blocks "
        r"along a tour give $\lambda_{\min} \geq \kappa \tau$ at a movement that does not grow "
        r"with $\tau$.",
        proof=r"If $\lambda_{\min}$ grew linearly, a constant share of all rounds would be "
        r"played away from the "
        r"optimum, and the regret would be linear.",
        test="test_lazy_play_leaves_dependencies_undetected",
        run=structure.contexts_under_lazy_play,
    ),
    Erratum(
        key="warm-up-cost",
        title="What a warm-up round costs",
        place="Theorem (regret of adaptive refinement), end of the proof",
        kind="false",
        printed=r"A round of isotropic noise costs $O(\sqrt{d_{\mathrm{total}}})$.",
        example=r"$\mu = 10 s$, $d = 1$, uniform states.",
        corrected=r"$R \leq \tau R_{\max} + \lambda \cdot (\mathrm{length\ of\ the\ tour}) + "
        r"R_{\mathrm{lazy}}$ with "
        r"$R_{\max} = \max L - \min L$.",
        proof=r"States of the warm-up minimise nothing, so that no width bounds their regret. "
        r"Uniform states move "
        r"$k/3$ a round.",
        test="test_the_warm_up_of_the_policy_is_within_what_was_said",
        run=structure.cost_of_the_warm_up,
    ),
    Erratum(
        key="joint-overshoot",
        title="How far a round overshoots the joint trigger",
        place="Theorem (regret of the joint estimator), proof",
        kind="false",
        printed=r"The determinant grows by at most 4 in an epoch.",
        example=r"Three isolated criteria, unit features, $\lambda = 1$.",
        corrected=r"$R \leq 2 \beta_J \sqrt{m c_J T \Gamma_J}$, $m$ the largest component, "
        r"$c_J = \bar S / \log(1 + \bar S)$, $\bar S = (C - 1) + \|\Psi\|^2_{\mathrm{op}} / "
        r"\lambda$.",
        proof=r"A round adds $\Psi^{T} \Psi$, of rank up to $k$. $\Psi V^{-1} \Psi^{T}$ is "
        r"block-diagonal over "
        r"components, which replaces $k$ by $m$.",
        test="test_joint_theorem",
        run=structure.overshoot_of_the_joint_trigger,
    ),
    Erratum(
        key="joint-covariance",
        title="The covariance of correlated noise",
        place="Section 3, correlated noise, and Section 5.3",
        kind="false",
        printed=r"Generalised least squares with the covariance $A A^{T}$, $A = I + \mathrm{Adj}$.",
        example=r"Two criteria that read both knobs.",
        corrected=r"$\Sigma = \sigma^2 A A^{T} + \rho I$ with a floor $\rho > 0$; or ordinary "
        r"least squares with "
        r"$\lambda_{\max}(\Sigma)$ in the place of $\sigma^2$.",
        proof=r"All rows of $A$ are equal on a clique, so that $A A^{T}$ has rank 1.",
        test="test_coverage_under_correlated_noise",
        run=structure.singular_covariance,
    ),
    Erratum(
        key="joint-ratio",
        title="Joint against node-wise",
        place="Section 5.3, comparison",
        kind="false",
        printed=r"The joint bound is $d_{\mathrm{eff}} \sqrt{k} / \sum_i d_i$ times the "
        r"node-wise one.",
        example=r"Thirty isolated criteria, $d = 2$.",
        corrected=r"With $\delta / 2$ each, $\max(\mathrm{LCB}, \mathrm{LCB}_J)$ is a bound: a "
        r"round costs at most "
        r"$2 \min(W, W_J)$ and the gap.",
        proof=r"$W_J = \beta_J (\sum_i w_i)^{1/2}$ and $W = \sum_i \beta_i w_i^{1/2}$ for "
        r"isolated criteria, with "
        r"$\beta_J^2 \leq \sum_i \beta_i^2$ up to logarithms; Cauchy-Schwarz does the rest.",
        test="test_the_printed_ratio_is_no_ratio_of_widths",
        run=structure.printed_ratio_of_widths,
    ),
    Erratum(
        key="mean-lag",
        title="How old the deployed state is",
        place="Theorem (sparsity budget), staleness",
        kind="false",
        printed=r"The mean staleness of the coin is $1 / p$.",
        example=r"$p = 1/2$.",
        corrected=r"$(1 - p) / p$, hence $E R \leq D_2^2 / (2 \eta) + \eta G^2 T (1/p - 1/2)$, "
        r"at best "
        r"$D_2 G \sqrt{T (2/p - 1)}$: at $p = 1$ exactly that of gradient descent.",
        proof=r"The number of tails before the next head is geometric from 0.",
        test="test_mean_lag_of_the_coin",
        run=adversarial.mean_lag,
    ),
    Erratum(
        key="ogd-movement",
        title="Movement at full budget",
        place="Theorem (sparsity budget), movement term, and its discussion",
        kind="loose",
        printed=r"Movement is $\lambda D M$, so that it is linear at $M = T$.",
        example=r"One knob, random signs, $M = T = 10^6$.",
        corrected=r"The path has length at most $\sqrt{k} \eta G T$, which is $D_1 \sqrt{M / 2}$ "
        r"for the printed step.",
        proof=r"The deployed path is a part of the virtual one, whose steps have length at most "
        r"$\eta G$.",
        test="test_movement_as_printed_and_as_it_is",
        run=adversarial.movement_at_full_budget,
    ),
    Erratum(
        key="trade-off",
        title="The best budget",
        place="Section 6, price of sparsity",
        kind="false",
        printed=r"$M = T^{2/3}$ is the optimal trade-off between losses and movement.",
        example=r"One knob, $\lambda = 1$, $T = 10^6$.",
        corrected=r"At $M = T$ losses and movement together are $O(\sqrt{T})$; a budget is "
        r"needed only where a switch has a "
        r"price of its own.",
        proof=r"Add the two corrected bounds.",
        test="test_total_regret_is_of_the_order_of_the_root_at_full_budget",
        run=adversarial.best_trade_off,
    ),
    Erratum(
        key="switching-probability",
        title="The best probability of a switch",
        place="Section 6, switching probability",
        kind="false",
        printed=r"$p^* = \sqrt{\eta G^2 / \lambda}$ for the l1 price $\lambda$.",
        example=r"$T = 10^4$, $\lambda = 1$.",
        corrected=r"$p^*$ is right for a fixed price per switch. For a price per unit of "
        r"movement $p = 1$ is best.",
        proof=r"The path does not grow with $p$, and the losses fall.",
        test="test_switching_probability_is_best_for_a_fixed_cost",
        run=adversarial.switching_probability,
    ),
    Erratum(
        key="discounting",
        title="Discounted matrices and the determinant test",
        place="Limitations, non-stationarity",
        kind="false",
        printed=r"Sliding windows or discounts adapt the algorithm to drift.",
        example=r"$\phi = 1$, $\lambda = 1$, discount 0.99.",
        corrected=r"Look when $n \|\phi\|^2_{V_\tau^{-1}} > C - 1$, counted without discount "
        r"since the last look: at most "
        r"$(d T \log(1/g) + d \log(1 + L^2 / (d \lambda (1 - g)))) / \log C$ looks, and never "
        r"the last.",
        proof=r"A discounted matrix is bounded, so that its determinant doubles finitely often; "
        r"$V_{\tau + n} \succeq g^n (V_\tau + n \phi \phi^{T})$ gives the count.",
        test="test_number_of_accruals",
        run=lazy.discounted_trigger,
    ),
)
