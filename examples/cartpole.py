"""REINFORCE (Williams, 1992) with a learned baseline balances a pole on a cart. Needs gymnasium."""

import time
from collections import deque

import gymnasium
from common import options, track

import livetape as torch

nn = torch.nn
args = options(__doc__)
torch.manual_seed(args.seed)
if args.threads:
    torch.set_num_threads(args.threads)
episodes, recent = (80, 20) if args.quick else (300, 100)
gamma = 0.99

env = gymnasium.make("CartPole-v1")
policy = nn.Sequential(nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 2))
baseline = nn.Sequential(nn.Linear(4, 128), nn.Tanh(), nn.Linear(128, 1))
optimizer = torch.optim.Adam([*policy.parameters(), *baseline.parameters()], lr=5e-3)


def play(seed):
    """One episode: what was seen, the log-probabilities of what was done, and the rewards."""
    observation, _ = env.reset(seed=seed)
    observations, log_probs, rewards = [], [], []
    done = False
    while not done:
        state = torch.from_numpy(observation)
        actions = torch.distributions.Categorical(logits=policy(state))
        action = actions.sample()
        observation, reward, terminated, truncated, _ = env.step(action.item())
        observations.append(state)
        log_probs.append(actions.log_prob(action))
        rewards.append(reward)
        done = terminated or truncated
    return torch.stack(observations), torch.stack(log_probs), rewards


def discounted(rewards):
    total, sums = 0.0, []
    for reward in reversed(rewards):
        total = reward + gamma * total
        sums.append(total)
    return torch.tensor(sums[::-1])


started = time.perf_counter()
lengths = deque(maxlen=recent)
for episode in track(range(1, episodes + 1), "CartPole"):
    observations, log_probs, rewards = play(seed=1000 * args.seed + episode)
    returns = discounted(rewards)
    values = baseline(observations).squeeze(-1)
    advantages = returns - values.detach()
    loss = -(log_probs * advantages).mean() + nn.functional.smooth_l1_loss(values, returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    lengths.append(len(rewards))
    if episode in (1, 2, 5) or episode % 10 == 0:
        print(f"episode {episode:3}/{episodes}  loss {loss.item():8.4f}  steps {sum(lengths) / len(lengths):6.1f}")
mean = sum(lengths) / len(lengths)
print(f"mean of the last {len(lengths)} episodes {mean:.1f} steps in {time.perf_counter() - started:.1f} s")
