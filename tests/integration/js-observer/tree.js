// From events to the tree: which split of a task is accepted, and which result counts (the protocol, sections 3 and 4).

import { sha256 } from './names.js'

const first = (values, before) =>
  values.reduce((best, value) => best === undefined || before(value, best) ? value : best, undefined)
const earlier = (one, other) => one.hlc < other.hlc || (one.hlc === other.hlc && one.id < other.id)

// Every goal that was heard of, as a tree of { id, title, status, children }.
export function trees (events) {
  return events.filter((event) => event.kind === 'goal/1').map((goal) => {
    const said = events.filter((event) => event.goal === goal.id)
    const cancelled = said.some((event) => event.kind === 'cancel/1')
    return task(goal.id, goal.text, goal.hlc, { goal, said, cancelled, electorate: electorate(goal, said) })
  })
}

function electorate (goal, said) {
  const amends = said.filter((event) => event.kind === 'amend/1' && event.author === goal.author)
  const forced = first(amends.filter((amend) => amend.forced), (one, other) => earlier(other, one))
  const named = goal.electorate.length > 0 ? goal : first(amends, earlier)
  const { electorate: members, quorum } = forced ?? named ?? { electorate: [], quorum: 0 }
  return { members, quorum: Math.min(members.length, Math.max(quorum, Math.floor(members.length / 2) + 1)) }
}

function task (id, title, born, plan) {
  const said = plan.said.filter((event) => event.task === id)
  const accepted = acceptance(said, plan.electorate)
  const children = accepted === undefined
    ? []
    : accepted.split.subgoals.map(({ title }, place) =>
      task(sha256(`swarmd/task/1 ${accepted.split.id} ${place}`).toString('hex'), title, accepted.born, plan))
  return { id, title, status: status(said, born, children, plan), children }
}

// The proposal with a quorum of approvals in one ballot, and the stamp from which on claims on its parts are valid.
function acceptance (said, { members, quorum }) {
  const votes = said.filter((event) => event.kind === 'vote/1' && members.includes(event.author))
  const complete = []
  for (const ballot of new Set(votes.map((vote) => vote.ballot))) {
    const ofBallot = votes.filter((vote) => vote.ballot === ballot)
    const sound = members
      .map((member) => ofBallot.filter((vote) => vote.author === member))
      .filter((own) => new Set(own.map((vote) => `${vote.proposal} ${vote.approve}`)).size === 1) // else equivocation
      .map((own) => first(own, earlier))
    for (const split of said.filter((event) => event.kind === 'proposal/1')) {
      const approvals = sound
        .filter((vote) => vote.approve && vote.proposal === split.id)
        .sort((one, other) => earlier(one, other) ? -1 : 1)
      if (quorum > 0 && approvals.length >= quorum) complete.push({ split, born: approvals[quorum - 1].hlc })
    }
  }
  return first(complete, (one, other) => one.born < other.born)
}

function status (said, born, children, { goal, cancelled }) {
  const valid = said.filter((event) => event.kind === 'claim/1' && event.hlc > born)
  const claims = new Map(valid.map((claim) => [claim.id, claim]))
  const results = said.filter((event) => {
    const claim = event.kind === 'result/1' ? claims.get(event.claim) : undefined
    return claim?.author === event.author && claim?.attempt === event.attempt
  })
  if (results.some((result) => result.status === 'done')) return 'done'
  if (results.some((result) => result.attempt >= goal.policy.attempts)) return 'failed'
  if (children.length > 0 && children.every((child) => child.status === 'failed')) return 'failed'
  return cancelled ? 'cancelled' : 'open'
}
